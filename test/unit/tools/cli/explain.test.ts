import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError } from '../../../../src/index.js'
import { UsageError } from '../../../../src/tools/cli/arguments/options.js'
import { parseArguments } from '../../../../src/tools/cli/arguments/parse-arguments.js'
import { explain } from '../../../../src/tools/cli/commands/explain.js'
import { FileError } from '../../../../src/tools/cli/read-json-file.js'
import { SeedError } from '../../../../src/tools/cli/start-service.js'
import { articles, DRAFT, documents } from '../insight/explain/articles.js'

// CONTRACT.md §8, "Explain"

let folder: string
const at = (name: string): string => join(folder, name)
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-explain-'))
  const files = {
    'config.json': articles,
    'wrong.json': { collections: 1 },
    'ann.json': { _id: 'ann' },
    'documents.json': documents,
    'unfit.json': { articles: [{ title: 1 }] },
    'body.json': { status: 'published' },
  }
  for (const [name, content] of Object.entries(files)) await writeFile(at(name), JSON.stringify(content))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Names of files become paths. */
async function run(method: string, path: string, ...others: readonly string[]): Promise<string> {
  const args = others.map((name) => (name.endsWith('.json') ? at(name) : name))
  const parsed = parseArguments(['explain', method, path, ...args])
  if (parsed.word !== 'explain') throw new Error('another word')
  const lines: string[] = []
  const print = (line: string): void => void lines.push(line)
  await explain(parsed, { print, complain: print })
  return lines.join('\n')
}

const PATCH = ['PATCH', `/articles/${DRAFT}`, 'config.json', '--seed', 'documents.json'] as const

test.each<readonly [what: string, args: readonly string[]]>([
  ['a caller and a body', ['--caller', '{"_id":"ann"}', '--body', '{"status":"published"}']],
  ['files of them', ['--caller', 'ann.json', '--body', 'body.json']],
])('explains a request of %s', async (_, args) => {
  const text = await run(...PATCH, ...args)
  expect(text).toMatch(/^403 forbidden/m)
  expect(text).toContain('✗ status ≠ "published": would be "published"')
  expect(text).toContain('/collections/articles/permissions/owner/update')
})

test('prints JSON for tools, and Markdown for reviews', async () => {
  const explanation = JSON.parse(
    await run(...PATCH, '--caller', 'ann.json', '--body', '{}', '--format', 'json'),
  )
  expect(explanation).toMatchObject({ answer: { status: 200 }, missing: null, suggestion: null })
  expect(await run('GET', '/articles', 'config.json', '--format', 'markdown')).toMatch(/^### `GET \/articles/)
})

test('sends headers, at a time', async () => {
  const sent = ['--caller', 'ann.json', '--body', '{}', '--header', 'If-Match: "x"', '--now', '2026-01-01']
  expect(await run(...PATCH, ...sent)).toMatch(/^412 precondition_failed/m)
})

test('sends a header that is named twice as a list', async () => {
  const sent = [
    '--caller',
    'ann.json',
    '--body',
    '{}',
    '--header',
    'If-Match: *',
    '--header',
    'if-match: "x"',
  ]
  // Each alone is one.
  expect(await run(...PATCH, ...sent)).toContain('must contain entity tags or *.')
})

test.each<
  readonly [
    what: string,
    args: readonly [string, string, ...string[]],
    error: new (...args: never[]) => Error,
  ]
>([
  ['/auth', ['POST', '/auth/login', 'config.json'], UsageError],
  ['a body with GET', ['GET', '/articles', 'config.json', '--body', '{}'], UsageError],
  ['a time that is none', ['GET', '/articles', 'config.json', '--now', 'soon'], UsageError],
  ['a caller without a name', ['GET', '/articles', 'config.json', '--caller', '{}'], UsageError],
  [
    'a caller with two names',
    ['GET', '/articles', 'config.json', '--caller', '{"_id":"ann","id":"bob"}'],
    UsageError,
  ],
  [
    'a caller with a key twice',
    ['GET', '/articles', 'config.json', '--caller', '{"_id":"ann","roles":[],"roles":["admin"]}'],
    UsageError,
  ],
  ['a caller in no file', ['GET', '/articles', 'config.json', '--caller', 'none.json'], FileError],
  ['a wrong configuration', ['GET', '/articles', 'wrong.json'], ConfigError],
  ['documents that do not fit', ['GET', '/articles', 'config.json', '--seed', 'unfit.json'], SeedError],
])('does not explain %s', async (_, args, error) => {
  await expect(run(...args)).rejects.toThrow(error)
})
