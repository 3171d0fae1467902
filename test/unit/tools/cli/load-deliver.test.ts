import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadDeliver } from '../../../../src/tools/cli/commands/serve.js'
import { FileError } from '../../../../src/tools/cli/read-json-file.js'

// CONTRACT.md §7, "The command"

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-deliver-'))
})
afterAll(() => rm(folder, { recursive: true }))

const write = async (name: string, text: string): Promise<string> => {
  const file = join(folder, name)
  await writeFile(file, text)
  return file
}
const silent = (): void => {}
const user = { _id: '0189abcd-0000-7000-8000-000000000001' }

test('a module hands on what it is given', async () => {
  const file = await write(
    'own.mjs',
    'export const seen = []\nexport const deliver = (one) => seen.push(one.kind)',
  )
  const deliver = await loadDeliver(file, silent)
  await deliver({ kind: 'already-registered', to: 'ann', user })
  expect((await import(file)).seen).toEqual(['already-registered'])
})

test.each([
  ['that is not there', undefined, 'none.mjs'],
  ['without the function', 'export const deliver = 1\n', '"deliver"'],
  ['that exports by default', 'export default { deliver() {} }\n', '"deliver"'],
  ['that cannot be read', 'export const = 1\n', 'other.mjs'],
  ['that throws', "throw new Error('no mail here')\n", 'no mail here'],
  ['that throws no error', "throw 'no mail here'\n", 'no mail here'],
])('a module %s is refused', async (what, text, said) => {
  const name = text === undefined ? 'none.mjs' : `${what.replaceAll(' ', '-')}-other.mjs`
  const file = text === undefined ? join(folder, name) : await write(name, text)
  const loading = loadDeliver(file, silent)
  await expect(loading).rejects.toThrow(FileError)
  await expect(loading).rejects.toThrow(said)
})

test('the console shows a token on lines of its own, and no character that could move the cursor', async () => {
  const printed: string[] = []
  const deliver = await loadDeliver('console', (line) => printed.push(line))
  const expiresAt = '2026-11-20T08:00:00.000Z'
  await deliver({ kind: 'reset', to: 'a\u001b[2J\n@example.com', user, token: 'T-1', expiresAt })
  await deliver({ kind: 'identifier-changing', to: 'ann@example.com', user })
  expect(printed).toEqual([
    `Message for a\\u{1b}[2J\\n@example.com: reset\n  token T-1\n  valid until ${expiresAt}`,
    'Message for ann@example.com: identifier-changing',
  ])
})
