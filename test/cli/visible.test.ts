import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseArguments } from '../../src/tools/cli/arguments/parse-arguments.js'
import { check } from '../../src/tools/cli/commands/check.js'
import { diff } from '../../src/tools/cli/commands/diff.js'
import { explain } from '../../src/tools/cli/commands/explain.js'
import { importFile } from '../../src/tools/cli/commands/import.js'
import { matrix } from '../../src/tools/cli/commands/matrix.js'
import { openapi } from '../../src/tools/cli/commands/openapi.js'

// Values of documents, names in bodies and ids of callers are foreign: what is printed of them moves no cursor.

/** The sequences of a terminal, in seven and eight bits, a mark that turns the writing around, and an invisible one. */
const FOREIGN = 'a\u001b[2J\u009b31m\u202eb\u200b\u2028\r\nc`|'

const ID = '0190163d-8694-7000-8000-000000000001'

const text = { type: 'string' }
const configOf = (role: object) => ({
  collections: {
    users: { schema: { email: { ...text, unique: true }, password: { type: 'hash' } } },
    notes: {
      schema: { title: { ...text, description: FOREIGN }, kind: { ...text, enum: [FOREIGN, 'b'] } },
      permissions: {
        '*': { read: { where: { title: FOREIGN } } },
        user: { create: { set: { title: FOREIGN }, pick: ['title'] } },
        [FOREIGN]: role,
        owner: { read: true, update: { check: { $or: [{ title: FOREIGN }, { kind: 'b' }] } } },
      },
    },
  },
})
const before = configOf({ read: { where: { kind: FOREIGN } }, update: true })
const after = configOf({ update: { where: { kind: { $nin: [FOREIGN, 'c'] } } } })

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-visible-'))
  const files = {
    'before.json': before,
    'after.json': after,
    'faulty.json': configOf({ read: { where: { [FOREIGN]: FOREIGN } } }),
    'seed.json': { notes: [{ _id: ID, title: FOREIGN, kind: 'b', createdBy: FOREIGN }] },
    'caller.json': { id: FOREIGN, roles: [FOREIGN] },
    'body.json': { title: FOREIGN, [FOREIGN]: FOREIGN, kind: FOREIGN },
    'db.json': { [FOREIGN]: [{ id: FOREIGN, [FOREIGN]: FOREIGN }], notes: [{ id: 'a', title: FOREIGN }] },
  }
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(content))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a line of the command in this process: what it prints and what it throws. */
async function run(line: readonly string[]): Promise<string> {
  const printed: string[] = []
  const print = (one: string) => void printed.push(one)
  const terminal = { print, complain: print }
  const args = parseArguments(line.map((one) => (/^\w+\.json$/.test(one) ? join(folder, one) : one)))
  switch (args.word) {
    case 'check':
      await check(args, terminal)
      break
    case 'diff':
      await diff(args, terminal)
      break
    case 'explain':
      await explain(args, terminal)
      break
    case 'matrix':
      await matrix(args, terminal)
      break
    case 'openapi':
      await openapi(args, terminal)
      break
    case 'import':
      await importFile(args, print)
      break
    default:
      throw new Error(`${args.word} is another word`)
  }
  return printed.join('\n')
}

const SEEN = ['--caller', 'caller.json', '--seed', 'seed.json']
const READ = ['explain', 'GET', '/notes', 'before.json', ...SEEN]
const READ_ONE = ['explain', 'GET', `/notes/${ID}`, 'before.json', '--seed', 'seed.json']
const CREATE = ['explain', 'POST', '/notes', 'after.json', '--body', 'body.json', ...SEEN]
const UPDATE = ['explain', 'PATCH', `/notes/${ID}`, 'after.json', '--body', 'body.json', ...SEEN]

const cases: readonly (readonly [name: string, line: readonly string[]])[] = [
  ['check', ['check', 'before.json']],
  ['check of faults', ['check', 'faulty.json']],
  ['matrix', ['matrix', 'before.json']],
  ['diff', ['diff', 'before.json', 'after.json']],
  ['explain a list', READ],
  ['explain a document', READ_ONE],
  ['explain a create', CREATE],
  ['explain an update', UPDATE],
]

test.each(
  cases.flatMap(([name, line]) =>
    ['text', 'markdown', 'json'].map(
      (format) => [`${name} as ${format}`, [...line, '--format', format]] as const,
    ),
  ),
)('%s', async (_, line) => {
  const printed = await run([...line, ...(line[0] === 'check' ? [] : ['--authenticate'])])
  expect(printed).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  // Something foreign was there to print.
  expect(printed).toMatch(/\\u(?:\{9b\}|009b)/)
})

test('openapi', async () => {
  const printed = await run(['openapi', 'before.json', '--caller', 'caller.json', '--authenticate'])
  expect(printed).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(printed).toContain('\\u009b')
  expect(JSON.parse(printed)).toMatchObject({ openapi: '3.1.0' })
})

test('import', async () => {
  const target = join(folder, 'made')
  const printed = await run(['import', 'db.json', target])
  expect(printed).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(JSON.parse(await readFile(join(target, 'documents.json'), 'utf8'))).toMatchObject({
    notes: [{ title: FOREIGN }],
  })
})
