import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UsageError } from '../../../../src/tools/cli/arguments/options.js'
import { openapi } from '../../../../src/tools/cli/commands/openapi.js'
import { describeApi } from '../../../../src/tools/insight/index.js'

// CONTRACT.md §8, "OpenAPI"

const config = {
  collections: {
    notes: {
      schema: { text: { type: 'string' } },
      permissions: {
        '*': { read: { pick: [] } },
        editor: { read: true, update: { where: { text: '$user.name' } } },
      },
    },
  },
} as const

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-openapi-'))
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = async (caller: string | undefined): Promise<unknown> => {
  const lines: string[] = []
  await openapi(
    { config: join(folder, 'config.json'), format: 'text', authenticate: true, production: false, caller },
    { print: (line) => lines.push(line), complain: (line) => lines.push(line) },
  )
  return JSON.parse(lines.join('\n'))
}

test.each([
  [undefined, undefined],
  ['anonymous', null],
  ['{"_id":"ann","roles":["editor"],"name":"Ann"}', { id: 'ann', roles: ['editor'] }],
  ['{"id":"ann"}', { id: 'ann' }],
])('prints the document for %s', async (caller, expected) => {
  const options = { authenticate: true, ...(expected === undefined ? {} : { caller: expected }) }
  expect(await run(caller)).toEqual(describeApi(config, options))
})

test.each(['ann', '[]', '{"roles":["editor"]}', '{"_id":1}', '{"_id":"ann","roles":"editor"}'])(
  'refuses the caller %s',
  async (caller) => {
    await expect(run(caller)).rejects.toThrow(UsageError)
  },
)
