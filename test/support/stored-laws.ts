import { expect } from 'vitest'
import type { createCollectionService, StorageAdapter } from '../../src/index.js'
import type { checkData, StoredReport } from '../../src/tools/insight/index.js'
import type { Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createTestService } from './service.js'
import { idOf } from './stored.js'

/** What a start and `check` say of stored documents that do not fit the configuration (CONTRACT.md §7, "Stored documents"). */

type Json = { readonly [name: string]: unknown }
type Document = Json & { readonly _id: string }

interface Expected {
  readonly pointer: string
  readonly field: string
  readonly error: string
  readonly ids: readonly string[]
  readonly renamed?: string | undefined
}

/** A field of the configuration of before, and what becomes of it. */
interface Plant {
  readonly before: Json | undefined
  readonly values: readonly unknown[]
  readonly after: (name: string) => Json
  /** The misfits in documents with these values of the field; `undefined` where they have none. */
  readonly misfits: (
    name: string,
    valued: readonly (readonly [id: string, value: unknown])[],
  ) => readonly Expected[]
}

/** Every value has one of these marks, which occur nowhere else. */
const MARK = /vvq|77\d{4}|88\d{4}/
const TEXTS = ['vvqa', 'vvqab', 'vvqabcdefghi', 'vvqc', 'vvqmnopqrstu']
const text = { type: 'string' }

const idsWhere = (
  valued: readonly (readonly [id: string, value: unknown])[],
  isWrong: (value: unknown) => boolean,
): readonly string[] => valued.flatMap(([id, value]) => (isWrong(value) ? [id] : []))

const isPresent = (value: unknown): boolean => value !== undefined
const isMissing = (value: unknown): boolean => value === undefined

/** A field whose definition changes, so that some of its values have an error. */
const changed = (
  before: Json,
  values: readonly unknown[],
  after: Json,
  [error, isWrong, inside = '']: readonly [string, (value: never) => boolean, string?],
): Plant => ({
  before,
  values,
  after: (name) => ({ [name]: after }),
  misfits: (name, valued) => [
    {
      pointer: `/schema/${name}${inside}`,
      field: inside.startsWith('/properties/') ? `${name}.${inside.slice(12)}` : name,
      error,
      ids: idsWhere(valued, (value) => value !== undefined && isWrong(value as never)),
    },
  ],
})

const undeclared = (name: string, ids: readonly string[], renamed?: string): Expected => ({
  pointer: '/schema',
  field: name,
  error: 'unknown_property',
  ids,
  renamed,
})

/** A field with another name, which is similar. */
const renamed = (before: Json, values: readonly unknown[], isRequired: boolean): Plant => ({
  before,
  values,
  after: (name) => ({ [`${name}s`]: { ...before, required: isRequired } }),
  misfits: (name, valued) => [
    {
      pointer: `/schema/${name}s`,
      field: `${name}s`,
      error: 'required',
      ids: isRequired ? valued.map(([id]) => id) : [],
    },
    undeclared(name, idsWhere(valued, isPresent), `${name}s`),
  ],
})

const PLANTS: { readonly [what: string]: Plant } = {
  unchanged: { before: text, values: TEXTS, after: (name) => ({ [name]: text }), misfits: () => [] },
  wider: changed({ ...text, maxLength: 40 }, TEXTS, { ...text, maxLength: 50 }, ['too_long', () => false]),
  renamed: renamed(text, TEXTS, false),
  'renamed and required': renamed(text, TEXTS, true),
  'a renamed hash': renamed({ type: 'hash' }, TEXTS, true),
  'of another type': changed(text, TEXTS, { type: 'integer' }, ['wrong_type', () => true]),
  'a text that becomes a hash': changed(text, TEXTS, { type: 'hash' }, ['wrong_type', () => true]),
  'a hash that becomes a text': changed({ type: 'hash' }, TEXTS, text, ['wrong_type', () => true]),
  // A `null` is never stored.
  'no longer nullable': changed({ ...text, nullable: true }, ['vvqa', null], text, [
    'wrong_type',
    () => false,
  ]),
  'nullable and of another type': changed(text, TEXTS, { type: 'integer', nullable: true }, [
    'wrong_type',
    () => true,
  ]),
  minimum: changed({ type: 'integer' }, [770001, 880001], { type: 'integer', minimum: 800_000 }, [
    'too_small',
    (value: number) => value < 800_000,
  ]),
  maxLength: changed(text, TEXTS, { ...text, maxLength: 8 }, [
    'too_long',
    (value: string) => value.length > 8,
  ]),
  enum: changed(text, ['vvqa', 'vvqc'], { ...text, enum: ['vvqa', 'vvqb'] }, [
    'not_allowed',
    (value) => value === 'vvqc',
  ]),
  pattern: changed(text, ['vvqa', 'vvqc'], { ...text, pattern: '^.{3}[ab]*$' }, [
    'wrong_pattern',
    (value) => value === 'vvqc',
  ]),
  format: changed(text, ['vvq@example.com', 'vvqc'], { ...text, format: 'email' }, [
    'wrong_format',
    (value) => value === 'vvqc',
  ]),
  'newly required': {
    before: text,
    values: TEXTS,
    after: (name) => ({ [name]: { ...text, required: true } }),
    misfits: (name, valued) => [
      { pointer: `/schema/${name}`, field: name, error: 'required', ids: idsWhere(valued, isMissing) },
    ],
  },
  'new and required': {
    before: undefined,
    values: [],
    after: (name) => ({ [name]: { ...text, required: true, default: 'x' } }),
    misfits: (name, valued) => [
      { pointer: `/schema/${name}`, field: name, error: 'required', ids: valued.map(([id]) => id) },
    ],
  },
  removed: {
    before: text,
    values: TEXTS,
    after: () => ({}),
    misfits: (name, valued) => [undeclared(name, idsWhere(valued, isPresent))],
  },
  'inside an object': changed(
    { type: 'object', properties: { city: text } },
    [{}, { city: 'vvqa' }, { city: 'vvqabcdefghi' }],
    { type: 'object', properties: { city: { ...text, maxLength: 8 } } },
    ['too_long', ({ city = '' }: { readonly city?: string }) => city.length > 8, '/properties/city'],
  ),
  'elements of an array': changed(
    { type: 'array', items: text },
    [[], ['vvqa'], ['vvqa', 'vvqabcdefghi', 'vvqmnopqrstu']],
    { type: 'array', items: { ...text, maxLength: 8 } },
    ['too_long', (value: readonly string[]) => value.some(({ length }) => length > 8), '/items'],
  ),
}

export const PLANT_NAMES: readonly string[] = [...Object.keys(PLANTS), 'no longer unique']

/** Names of which none is similar to another one. */
const NAMES = ['alpha', 'bridge', 'cumulus', 'dwarf', 'ecliptic', 'fjord', 'gymnast']

export interface StoredWorld {
  /** What was planted, by the name of the field. */
  readonly plants: { readonly [name: string]: string }
  readonly before: Json
  readonly after: Json
  readonly documents: readonly Document[]
  readonly misfits: readonly Expected[]
  /** The fields of unique indexes that the second configuration does not declare. */
  readonly left: readonly string[]
}

/** A random pair of configurations, with documents of the first and all the ways in which they do not fit the second. */
export function randomStored(random: Random): StoredWorld {
  const names = random.sample(NAMES, random.integer(1, NAMES.length))
  const isUnique = random.chance(0.5)
  const chosen = Object.fromEntries(names.map((name) => [name, random.pick(Object.keys(PLANTS))]))
  const planted = names.map((name) => [name, PLANTS[chosen[name] ?? ''] as Plant] as const)
  const documents: readonly Document[] = Array.from({ length: random.integer(1, 12) }, (_, i) => {
    const valued = planted.flatMap(([name, { values }]) =>
      values.length > 0 && random.chance(0.8) ? [[name, random.pick(values)]] : [],
    )
    return { _id: idOf(i + 1), key: `vvq${i}`, ...Object.fromEntries(valued) }
  })
  const found = planted.flatMap(([name, { misfits }]) =>
    misfits(
      name,
      documents.map((document) => [document._id, document[name]]),
    ),
  )
  const configOf = (schema: Json): Json => ({
    collections: { things: { schema, permissions: { user: { read: true, create: true, update: true } } } },
  })
  return {
    plants: { ...chosen, ...(isUnique ? { key: 'no longer unique' } : {}) },
    before: configOf({
      key: { ...text, unique: isUnique },
      ...Object.fromEntries(planted.flatMap(([name, { before }]) => (before ? [[name, before]] : []))),
    }),
    after: configOf({
      key: text,
      ...Object.assign({}, ...planted.map(([name, { after }]) => after(name))),
    }),
    documents,
    misfits: addOnlyName(
      found.filter(({ ids }) => ids.length > 0),
      documents.length,
    ),
    left: isUnique ? ['key'] : [],
  }
}

/** Adds the new name of a name that is not declared: if no name is similar, the only required one that no document has. */
function addOnlyName(found: readonly Expected[], documents: number): readonly Expected[] {
  const names = found.filter(({ error }) => error === 'unknown_property')
  const lacking = found.filter(({ error, ids }) => error === 'required' && ids.length === documents)
  const only = names.length === 1 && lacking.length === 1 ? lacking[0]?.field : undefined
  return found.map((one) =>
    one.error === 'unknown_property' && one.renamed === undefined ? { ...one, renamed: only } : one,
  )
}

const LINE =
  /^\/collections\/things(?<pointer>\/[^:]*): (?<what>.*); in (?<count>\d+) of the (?<read>\d+) stored documents that were read: (?<ids>.*)$/

/** Reads the warnings of a start. Fails for any other entry. */
function readWarnings(logged: readonly unknown[][]): readonly Json[] {
  return logged.map(([line, details]) => {
    const { code } = (details ?? {}) as Json
    if (code === 'left_unique') {
      const left = /^\/collections\/things: .* different values in (\w+), because/.exec(String(line))
      return { code, field: left?.[1] }
    }
    expect(line).not.toMatch(MARK)
    const { pointer, what = '', count, read, ids = '' } = LINE.exec(String(line))?.groups ?? {}
    const named =
      /^"(?<field>[^"]+)" is not in the schema, so no response shows it(?: \(renamed to "(?<renamed>\w+)"\?\))?$/.exec(
        what,
      )
    const wrong = /^(?<field>\S+) .* \((?<error>\w+)\)$/.exec(what)
    const { field, error = 'unknown_property', renamed: newName } = { ...named?.groups, ...wrong?.groups }
    return { code, pointer, field, error, renamed: newName, count: Number(count), read: Number(read), ids }
  })
}

const inOrder = (all: readonly Json[]): readonly string[] => all.map((one) => JSON.stringify(one)).sort()

/** A storage that each call opens again; in memory, it is one adapter. The first call has the seed. */
export function reopened(create: () => StorageAdapter): (seed?: StorageAdapter['seed']) => StorageAdapter {
  let first: StorageAdapter | undefined
  return (seed) => {
    if (first?.system === 'memory') return first
    first = seed ? { ...create(), seed } : create()
    return first
  }
}

/** A build of the library. */
export interface StoredBuild {
  readonly create: typeof createCollectionService
  readonly check: typeof checkData
}

/**
 * Starts a service with the second configuration on documents of the first. The log of the start and the check have exactly
 * what was planted, and no response has anything of it.
 */
export async function checkStored(
  { create, check }: StoredBuild,
  { before, after, documents, misfits, left }: StoredWorld,
  connect: (seed?: StorageAdapter['seed']) => StorageAdapter,
): Promise<void> {
  const former = createTestService(before, { create, adapter: connect({ things: documents }) })
  await former.handler.ready()
  await former.handler.close()
  expect(former.logged).toEqual([])

  const adapter = connect()
  const service = createTestService(after, { create, adapter, holdsOthers: true })
  try {
    await service.handler.ready()
    const stays = adapter.leftUnique ? left : []
    const [report] = await check(after, adapter)
    expect(report && inOrder(reported(report))).toEqual(
      inOrder(
        misfits.map(({ field, error, ids, renamed: newName }) => ({
          field,
          error,
          count: ids.length,
          ids: ids.slice(0, 5),
          renamed: newName,
        })),
      ),
    )
    expect(JSON.stringify(report)).not.toMatch(MARK)
    expect(report?.leftUnique.map(({ fields }) => fields)).toEqual(stays.map((field) => [field]))
    const { text: root } = await service.send('GET /')
    expect(root).not.toMatch(/stored_|left_unique/)

    // Closing waits for what runs in the background.
    await service.handler.close()
    const expected = misfits.map(({ ids, ...one }) => ({
      code: one.error === 'unknown_property' ? 'stored_undeclared' : 'stored_misfit',
      pointer: one.pointer,
      field: one.field,
      error: one.error,
      renamed: one.renamed,
      count: ids.length,
      read: documents.length,
      ids: `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}`,
    }))
    expect(inOrder(readWarnings(service.logged))).toEqual(
      inOrder([...expected, ...stays.map((field) => ({ code: 'left_unique', field }))]),
    )
  } finally {
    await service.handler.close()
  }
}

const reported = ({ misfits }: StoredReport): readonly Json[] =>
  misfits.map(({ field, error, count, ids, renamed: newName }) => ({
    field,
    error,
    count,
    ids,
    renamed: newName,
  }))
