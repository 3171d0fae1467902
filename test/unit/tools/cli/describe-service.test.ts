import { expect, test } from 'vitest'
import { compileConfig } from '../../../../src/core/config/compile-config.js'
import { describeService } from '../../../../src/tools/cli/commands/serve.js'

test('what a start prints names the routes, who may do what, and a line to try', () => {
  const config = {
    collections: {
      notes: {
        changes: true,
        schema: { text: { type: 'string' } },
        permissions: { '*': { read: { omit: ['text'] } }, user: { create: true }, owner: { delete: true } },
      },
      logs: { schema: {}, permissions: { admin: true } },
    },
  }
  const plan = compileConfig(config, { production: false, hasAuthenticate: true })
  const running = { plan, file: 'config.json', base: 'http://localhost:3000', delivers: false }
  expect(describeService(running).split('\n')).toEqual([
    'notes      create  read   update  delete',
    'anonymous  –       -text  –       –',
    'user       all     -text  –       –',
    '  own              -text  –       all',
    '',
    'logs      create  read  update  delete',
    'everyone  –       –     –       –',
    'admin     all     all   all     all',
    '',
    'More about these tables: collection-service matrix',
    '',
    '/               GET lists the collections and operations that the caller may use',
    '/notes/changes  GET streams changes of documents that the caller may read',
    '/_batch         POST runs several operations: all of them or none',
    '',
    "Try: curl -g 'http://localhost:3000/notes?sort[createdAt]=-1&limit=5'",
  ])
})
