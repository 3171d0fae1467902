import { expect, test } from 'vitest'
import { describeService } from '../../../src/cli/describe-service.js'
import { compileConfig } from '../../../src/config/compile-config.js'

test('what a start prints names the routes, who may do what, and a line to try', () => {
  const plan = compileConfig(
    {
      collections: {
        notes: {
          changes: true,
          schema: { text: { type: 'string' } },
          permissions: { '*': { read: { omit: ['text'] } }, user: { create: true }, owner: { delete: true } },
        },
        logs: { schema: {}, permissions: { admin: true } },
      },
    },
    { production: false, hasAuthenticate: true },
  )
  expect(describeService(plan, { origin: 'http://localhost:3000', delivers: false }).split('\n')).toEqual([
    '  /        GET lists the collections and operations that its caller may use',
    '  /notes   read: * (some fields) · create: user · update: nobody · delete: owner · changes: as read, at /notes/changes',
    '  /logs    read: admin · create: admin · update: admin · delete: admin',
    '  /_batch  POST does several operations in one step, or none',
    '',
    "Try: curl -g 'http://localhost:3000/notes?sort[createdAt]=-1&limit=5'",
  ])
})
