import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Config, ConfigError } from '../../src/index.js'
import { UsageError } from '../../src/tools/cli/arguments/options.js'
import { parseArguments } from '../../src/tools/cli/arguments/parse-arguments.js'
import { printTypes, writeTypes } from '../../src/tools/cli/commands/print-types.js'
import { FileError } from '../../src/tools/cli/read-json-file.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const example = `${root}examples/config.json`

/** Everything that a schema can hold, and names that no identifier can. */
const everything: Config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, description: 'Where to */ write\nto.' },
        password: { type: 'hash', required: true },
        team: { type: 'string', required: true },
        since: { type: 'timestamp' },
      },
      permissions: { '*': { create: { set: { team: 'none' } } }, user: true, owner: { pick: ['email'] } },
    },
    'blog-posts': {
      schema: {
        title: { type: 'string', required: true },
        status: { type: 'string', enum: ['draft', "it's", 'a "b" \\ c', '*/'], default: 'draft' },
        level: { type: 'integer', enum: [1, 2, -3] },
        score: { type: 'number', nullable: true },
        isOpen: { type: 'boolean', required: true, default: true },
        publishedAt: { type: 'timestamp', default: '$now' },
        times: { type: 'array', items: { type: 'timestamp' } },
        tags: { type: 'array', items: { type: 'string' }, nullable: true },
        kinds: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
        grid: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
        address: {
          type: 'object',
          required: true,
          properties: {
            city: { type: 'string', required: true },
            zip: { type: 'string', nullable: true },
            author: { type: 'reference', collection: 'users' },
          },
        },
        links: {
          type: 'array',
          items: {
            type: 'object',
            properties: { url: { type: 'string', required: true }, more: { type: 'json' } },
          },
        },
        more: { type: 'json', nullable: true },
        author: { type: 'reference', collection: 'users' },
        parents: { type: 'array', items: { type: 'reference', collection: 'blog-posts' } },
      },
    },
    blog_posts: { schema: { name: { type: 'string' } }, additionalProperties: true },
    empty: { schema: {} },
  },
  auth: { verifiedField: 'since' },
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-types-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What the compiler says of each module, the strictest way: one program has them all. */
async function compile(files: {
  readonly [name: string]: string
}): Promise<ReadonlyMap<string, readonly string[]>> {
  const pathOf = (name: string): string => join(folder, name)
  await writeFile(pathOf('package.json'), '{ "type": "module" }')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(pathOf(name)), { recursive: true })
    await writeFile(pathOf(name), text)
  }
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  }
  const names = Object.keys(files)
  const program = ts.createProgram(names.map(pathOf), options)
  // Of these alone: what they import is judged elsewhere.
  return new Map(
    names.map((name) => [
      name,
      ts
        .getPreEmitDiagnostics(program, program.getSourceFile(pathOf(name)))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ]),
  )
}

/** A module that compiles only if the printed types are those that a literal gives. */
const compareWith = (config: string, types: string): string => `
import type { Collections } from './${types}.js'
import { defineConfig, type CollectionsOf } from '${root}src/index.js'
import { createClient } from '${root}src/client/client.js'

const config = defineConfig(${config})
type Flat<T> = T extends (infer I)[] ? Flat<I>[] : T extends object ? { [K in keyof T]: Flat<T[K]> } : T
type Same<A, B> =
  (<T>() => T extends Flat<A> ? 1 : 2) extends (<T>() => T extends Flat<B> ? 1 : 2) ? true : false
export const isSame: Same<Collections, CollectionsOf<typeof config>> = true
export const users = createClient<Collections>('/').collection('users')
export const found = users.list({ q: { email: { $regex: 'x' } }, project: ['email'] })
export const emails = found.then((documents) => documents.map(({ email }): string => email))
`

describe('printed types', () => {
  const CONFIGURATIONS: readonly (readonly [name: string, read: () => Promise<string>])[] = [
    ['example', () => readFile(example, 'utf8')],
    ['everything', async () => JSON.stringify(everything)],
  ]
  let faults: ReadonlyMap<string, readonly string[]>
  beforeAll(async () => {
    const files = await Promise.all(
      CONFIGURATIONS.map(async ([name, read]) => {
        const text = await read()
        const types = printTypes(JSON.parse(text))
        return {
          [`${name}/types.ts`]: types,
          [`${name}/same.ts`]: compareWith(text, 'types'),
          // And a difference would be seen.
          [`${name}/other.ts`]: types.replace('readonly email: string', 'readonly email?: string'),
          [`${name}/different.ts`]: compareWith(text, 'other'),
        }
      }),
    )
    faults = await compile(Object.assign({}, ...files))
  })

  test.each(CONFIGURATIONS)('of %s are those of the same literal', (name) => {
    const found = ['types', 'same', 'other'].map((file) => faults.get(`${name}/${file}.ts`))
    expect(found).toEqual([[], [], []])
    expect(faults.get(`${name}/different.ts`)).not.toEqual([])
  })

  test('offer nothing that a body loses', () => {
    const bodies = [...printTypes(everything).matchAll(/interface Users(\w+) \{\n([^}]*)/g)]
    expect(bodies.map(([, name, fields]) => [name, fields?.includes('since')])).toEqual([
      ['Document', true],
      ['CreateBody', false],
      ['UpdateBody', false],
    ])
  })

  test('stand by themselves', () => {
    expect(printTypes(everything)).not.toMatch(/\bimport\b|\brequire\b/)
    expect(faults.get('everything/types.ts')).toEqual([])
  })

  test('say nothing of what is said to people', () => {
    const commented = JSON.parse(
      JSON.stringify(everything)
        .replaceAll(/"(?:collections|schema|properties|items|permissions|\*)":\{(?!\})/g, '$&"$comment":"x",')
        .replaceAll(/"(?:users|title)":\{/g, '$&"$comment":"x",'),
    )
    expect(JSON.stringify(commented)).toContain('{"$comment":"x","email":')
    expect(printTypes(commented)).toBe(printTypes(everything))
  })

  test('have names of their own', () => {
    const names = [...printTypes(everything).matchAll(/^export (?:interface|type) (\w+)/gm)].map(
      ([, name]) => name,
    )
    expect(names.filter((name) => name?.endsWith('Document'))).toEqual([
      'UsersDocument',
      'BlogPostsDocument',
      'BlogPosts_2Document',
      'EmptyDocument',
    ])
    expect(new Set(names).size).toBe(names.length)
    expect(names.at(-1)).toBe('Collections')
  })
})

describe('the command', () => {
  test('prints them', async () => {
    const lines: string[] = []
    await writeTypes({ config: example, out: undefined }, (line) => lines.push(line))
    expect(`${lines.join('\n')}\n`).toBe(printTypes(JSON.parse(await readFile(example, 'utf8'))))
  })

  test('writes them into a file', async () => {
    const out = join(folder, 'out.ts')
    const lines: string[] = []
    await writeTypes({ config: example, out }, (line) => lines.push(line))
    expect(lines).toEqual([])
    expect(await readFile(out, 'utf8')).toBe(printTypes(JSON.parse(await readFile(example, 'utf8'))))
    const nowhere = writeTypes({ config: example, out: join(folder, 'no', 'out.ts') }, () => {})
    await expect(nowhere).rejects.toBeInstanceOf(FileError)
    const itself = join(folder, 'config.json')
    await writeFile(itself, '{}')
    const lost = writeTypes({ config: itself, out: join(folder, '.', 'config.json') }, () => {})
    await expect(lost).rejects.toBeInstanceOf(FileError)
    expect(await readFile(itself, 'utf8')).toBe('{}')
  })

  test('has no types for what could not be served', async () => {
    const wrong = join(folder, 'wrong.json')
    await writeFile(wrong, '{ "collections": { "a": { "schema": { "b": { "type": "strnig" } } } } }')
    await expect(writeTypes({ config: wrong, out: undefined }, () => {})).rejects.toBeInstanceOf(ConfigError)
    await expect(writeTypes({ config: 'nosuch.json', out: undefined }, () => {})).rejects.toBeInstanceOf(
      FileError,
    )
  })

  test.each<[string[], object]>([
    [['types'], { config: 'config.json', out: undefined }],
    [['types', 'a.json', '--out', 'a.ts'], { config: 'a.json', out: 'a.ts' }],
    [['--out=a.ts', 'types', 'a.json'], { config: 'a.json', out: 'a.ts' }],
  ])('understands %j', (args, expected) => {
    expect(parseArguments(args)).toMatchObject(expected)
  })

  test.each([
    [['types', 'a.json', 'b.json']],
    [['types', '--out', '']],
    [['types', '--out', 'a', '--out', 'b']],
    [['types', '--port', '3000']],
    [['types', '--data', 'a.db']],
    [['a.json', '--out', 'a.ts']],
    [['grant', 'ann', 'admin', '--data', 'a.db', '--out', 'a.ts']],
  ])('makes nothing of %j', (args) => {
    expect(() => parseArguments(args)).toThrow(UsageError)
  })
})
