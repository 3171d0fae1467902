import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { createCollectionService, StorageAdapter } from '../../src/index.js'
import type { checkData, StoredReport } from '../../src/tools/insight/index.js'
import type { Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { createTestService, type TestService } from './service.js'
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
  /** The object of the field, from that of its collection. */
  readonly inside?: string
  /** Whether no document has this required field. */
  readonly isAbsent?: boolean
}

type Valued = readonly (readonly [id: string, value: unknown])[]

/** A field of the configuration of before, and what becomes of it. */
interface Plant {
  readonly before: Json | undefined
  readonly values: readonly unknown[]
  readonly after: (name: string) => Json
  /** The misfits in documents with these values of the field; `undefined` where they have none. */
  readonly misfits: (name: string, valued: Valued) => readonly Expected[]
}

/** Almost every value has one of these marks, which occur nowhere else. A hash has the last one. */
const MARK = /vvq|77\d{4}|88\d{4}|\$2[aby]\$/
const TEXTS = ['vvqa', 'vvqab', 'vvqabcdefghi', 'vvqc', 'vvqmnopqrstu']
const text = { type: 'string' }
const integer = { type: 'integer' }

const idsWhere = (valued: Valued, isWrong: (value: unknown) => boolean): readonly string[] =>
  valued.flatMap(([id, value]) => (isWrong(value) ? [id] : []))

const isPresent = (value: unknown): boolean => value !== undefined
const isMissing = (value: unknown): boolean => value === undefined

/** What is wrong in a value of a field, `inside` of which the value has an error. */
type Wrong = readonly [error: string, isWrong: (value: never) => boolean, inside?: string]

const pathOf = (name: string, inside: string): string =>
  name + inside.replaceAll('/items', '').replaceAll('/properties/', '.')

/** A field whose definition changes, so that some of its values have errors. */
const changed = (
  before: Json,
  values: readonly unknown[],
  after: Json,
  ...wrong: readonly Wrong[]
): Plant => ({
  before,
  values,
  after: (name) => ({ [name]: after }),
  misfits: (name, valued) =>
    wrong.map(([error, isWrong, inside = '']) => ({
      pointer: `/schema/${name}${inside}`,
      field: pathOf(name, inside),
      error,
      ids: idsWhere(valued, (value) => value !== undefined && isWrong(value as never)),
    })),
})

const undeclared = (name: string, ids: readonly string[], newName?: string): Expected => ({
  pointer: '/schema',
  field: name,
  error: 'unknown_property',
  ids,
  renamed: newName,
})

/** A required field that some documents lack. */
const required = (name: string, valued: Valued): Expected => {
  const ids = idsWhere(valued, isMissing)
  return {
    pointer: `/schema/${name}`,
    field: name,
    error: 'required',
    ids,
    isAbsent: ids.length === valued.length,
  }
}

/** A field with another name, which is similar. */
const renamed = (before: Json, values: readonly unknown[], isRequired: boolean): Plant => ({
  before,
  values,
  after: (name) => ({ [`${name}s`]: { ...before, required: isRequired } }),
  misfits: (name, valued) => [
    ...(isRequired
      ? [
          required(
            `${name}s`,
            valued.map(([id]) => [id, undefined]),
          ),
        ]
      : []),
    undeclared(name, idsWhere(valued, isPresent), `${name}s`),
  ],
})

const always = (): boolean => true
const isLong = (value: string): boolean => value.length > 8
const object = (properties: Json): Json => ({ type: 'object', properties })
const array = (items: Json): Json => ({ type: 'array', items })

type Inner = { readonly city?: string }

/** A property of an object, or of the objects in an array, that changes. */
const inside = (
  values: readonly (readonly Inner[])[],
  after: Json,
  isArray: boolean,
  wrong: (where: string) => readonly (Pick<Expected, 'error' | 'renamed' | 'isAbsent'> & {
    readonly property: string
    readonly isWrong: (value: Inner) => boolean
  })[],
): Plant => ({
  before: isArray ? array(object({ city: text })) : object({ city: text }),
  values: isArray ? values : values.flat(),
  after: (name) => ({ [name]: isArray ? array(object(after)) : object(after) }),
  misfits: (name, valued) => {
    const where = `/schema/${name}${isArray ? '/items' : ''}`
    return wrong(where).map(({ property, isWrong, error, ...others }) => ({
      ...others,
      pointer: error === 'unknown_property' ? where : `${where}/properties/${property}`,
      field: `${name}.${property}`,
      error,
      inside: name,
      ids: idsWhere(
        valued,
        (value) => value !== undefined && [value].flat().some((one) => isWrong(one as Inner)),
      ),
    }))
  },
})

const INNER: readonly (readonly Inner[])[] = [
  [{}],
  [{ city: 'vvqa' }],
  [{ city: 'vvqb' }, {}, { city: 'vvqabcdefghi' }],
]
const hasCity = ({ city }: Inner): boolean => city !== undefined
const lacksCity = ({ city }: Inner): boolean => city === undefined

const insidePlants = (what: string, isArray: boolean): { readonly [what: string]: Plant } => ({
  [`a limit inside ${what}`]: inside(INNER, { city: { ...text, maxLength: 8 } }, isArray, () => [
    { property: 'city', error: 'too_long', isWrong: ({ city = '' }) => isLong(city) },
  ]),
  [`another type inside ${what}`]: inside(INNER, { city: { type: 'boolean' } }, isArray, () => [
    { property: 'city', error: 'wrong_type', isWrong: hasCity },
  ]),
  [`newly required inside ${what}`]: inside(INNER, { city: { ...text, required: true } }, isArray, () => [
    { property: 'city', error: 'required', isWrong: lacksCity },
  ]),
  [`removed inside ${what}`]: inside(INNER, { measure: text }, isArray, () => [
    { property: 'city', error: 'unknown_property', isWrong: hasCity },
  ]),
  [`renamed inside ${what}`]: inside(INNER, { cities: { ...text, required: true } }, isArray, () => [
    { property: 'cities', error: 'required', isAbsent: true, isWrong: always },
    { property: 'city', error: 'unknown_property', isWrong: hasCity, renamed: 'cities' },
  ]),
  [`replaced inside ${what}`]: inside(INNER, { measure: { ...integer, required: true } }, isArray, () => [
    { property: 'measure', error: 'required', isAbsent: true, isWrong: always },
    { property: 'city', error: 'unknown_property', isWrong: hasCity },
  ]),
})

const ID = idOf(770001)

/** What documents have, and the types that none of it has. */
const RETYPED: {
  readonly [what: string]: readonly [before: Json, values: readonly unknown[], after: readonly Json[]]
} = {
  'a text': [
    text,
    TEXTS,
    [integer, { type: 'number', nullable: true }, { type: 'boolean' }, array(text), object({})],
  ],
  'an integer': [
    integer,
    [770001, 880001],
    [text, { type: 'timestamp' }, { type: 'boolean', nullable: true }],
  ],
  'a boolean': [{ type: 'boolean' }, [true, false], [text, integer]],
  'an array': [array(text), [[], ['vvqa']], [text, object({}), { type: 'reference', collection: 'stuff' }]],
  'an object': [object({ city: text }), [{}, { city: 'vvqa' }], [text, array(text)]],
  'any JSON': [{ type: 'json' }, [{ city: ['vvqa'] }, [[770001]]], [text, integer]],
  'a hash': [{ type: 'hash' }, TEXTS, [text, { type: 'json', nullable: true }]],
}

const retyped: { readonly [what: string]: Plant } = Object.fromEntries(
  Object.entries(RETYPED).flatMap(([what, [before, values, types]]) =>
    types.map((after) => [
      `${what} that becomes ${after.type}${after.nullable ? ', nullable' : ''}`,
      changed(before, values, after, ['wrong_type', always]),
    ]),
  ),
)

const PLANTS: { readonly [what: string]: Plant } = {
  ...retyped,
  ...insidePlants('an object', false),
  ...insidePlants('an array of objects', true),
  unchanged: changed(text, TEXTS, text),
  'an unchanged hash': changed({ type: 'hash' }, TEXTS, { type: 'hash' }),
  'an unchanged reference': changed({ ...text, format: 'uuid' }, [ID], {
    type: 'reference',
    collection: 'stuff',
  }),
  wider: changed({ ...text, maxLength: 40 }, TEXTS, { ...text, maxLength: 50 }),
  'a new default': changed(text, TEXTS, { ...text, default: 'x' }),
  'any type': changed(object({ city: text }), [{ city: 'vvqa' }], { type: 'json' }),
  renamed: renamed(text, TEXTS, false),
  'renamed and required': renamed(text, TEXTS, true),
  'a renamed object': renamed(object({ city: { ...text, required: true } }), [{ city: 'vvqa' }], true),
  'a renamed hash': renamed({ type: 'hash' }, TEXTS, true),
  'a text that becomes a hash': changed(text, TEXTS, { type: 'hash', required: false }, [
    'wrong_type',
    always,
  ]),
  // A `null` is never stored.
  'no longer nullable': changed({ ...text, nullable: true }, ['vvqa', null], text),
  'a fraction': changed({ type: 'number' }, [770001, 770001.5], integer, [
    'wrong_type',
    (value: number) => !Number.isInteger(value),
  ]),
  minimum: changed(integer, [770001, 880001], { ...integer, minimum: 800_000 }, [
    'too_small',
    (value: number) => value < 800_000,
  ]),
  maximum: changed(integer, [770001, 880001], { ...integer, maximum: 800_000 }, [
    'too_large',
    (value: number) => value > 800_000,
  ]),
  'a choice of numbers': changed(integer, [770001, 880001], { ...integer, enum: [880_001] }, [
    'not_allowed',
    (value) => value === 770001,
  ]),
  minLength: changed(text, TEXTS, { ...text, minLength: 9 }, [
    'too_short',
    (value: string) => !isLong(value),
  ]),
  maxLength: changed(text, TEXTS, { ...text, maxLength: 8 }, ['too_long', isLong]),
  index: changed(text, ['vvqa', 'vvq'.repeat(400)], { ...text, index: true }, [
    'too_long',
    (value: string) => value.length > 1024,
  ]),
  enum: changed(text, ['vvqa', 'vvqc'], { ...text, enum: ['vvqa', 'vvqb'] }, [
    'not_allowed',
    (value) => value === 'vvqc',
  ]),
  pattern: changed(text, ['vvqa', 'vvqc'], { ...text, pattern: '^.{3}[ab]*$' }, [
    'wrong_pattern',
    (value) => value === 'vvqc',
  ]),
  'a pattern and a limit': changed(
    text,
    TEXTS,
    { ...text, pattern: '^.{3}[ab]*$', maxLength: 8 },
    ['wrong_pattern', (value: string) => !/^vvq[ab]*$/.test(value)],
    ['too_long', isLong],
  ),
  format: changed(text, ['vvq@example.com', 'vvqc'], { ...text, format: 'email' }, [
    'wrong_format',
    (value) => value === 'vvqc',
  ]),
  'a time': changed(text, ['vvqc', '2024-01-01', '2024-01-01T00:00:00.000Z'], { type: 'timestamp' }, [
    'wrong_format',
    (value: string) => value.length < 20,
  ]),
  lowercase: changed(text, ['vvqA', 'vvqa'], { ...text, lowercase: true }, [
    'not_normalised',
    (value) => value === 'vvqA',
  ]),
  trim: changed(array(text), [['vvqa', ' vvqa'], ['vvqa']], array({ ...text, trim: true }), [
    'not_normalised',
    (value: readonly string[]) => value.length > 1,
    '/items',
  ]),
  'a reference': changed(
    text,
    ['vvqa', ID, ID.toUpperCase()],
    { type: 'reference', collection: 'stuff' },
    ['unknown_reference', (value) => value === 'vvqa'],
    ['not_normalised', (value) => value === ID.toUpperCase()],
  ),
  'references in an array': changed(
    array(text),
    [['vvqa', 'vvqb', ID], [ID], []],
    array({ type: 'reference', collection: 'stuff' }),
    ['unknown_reference', (value: readonly string[]) => value.length > 1, '/items'],
  ),
  'newly required': {
    before: text,
    values: TEXTS,
    after: (name) => ({ [name]: { ...text, required: true } }),
    misfits: (name, valued) => [required(name, valued)],
  },
  'a newly required hash': {
    before: { type: 'hash' },
    values: TEXTS,
    after: (name) => ({ [name]: { type: 'hash', required: true } }),
    misfits: (name, valued) => [required(name, valued)],
  },
  'new and required': {
    before: undefined,
    values: [],
    after: (name) => ({ [name]: { ...text, required: true, default: 'x' } }),
    misfits: (name, valued) => [required(name, valued)],
  },
  new: { before: undefined, values: [], after: (name) => ({ [name]: integer }), misfits: () => [] },
  removed: {
    before: text,
    values: TEXTS,
    after: () => ({}),
    misfits: (name, valued) => [undeclared(name, idsWhere(valued, isPresent))],
  },
  'a removed hash': {
    before: { type: 'hash' },
    values: TEXTS,
    after: () => ({}),
    misfits: (name, valued) => [undeclared(name, idsWhere(valued, isPresent))],
  },
  'fewer elements': changed(
    array(text),
    [[], ['vvqa'], ['vvqa', 'vvqb']],
    { ...array(text), minItems: 1, maxItems: 1 },
    ['too_few', (value: readonly string[]) => value.length === 0],
    ['too_many', (value: readonly string[]) => value.length > 1],
  ),
  'elements of an array': changed(
    array(text),
    [[], ['vvqa'], ['vvqa', 'vvqabcdefghi', 'vvqmnopqrstu']],
    array({ ...text, maxLength: 8 }),
    ['too_long', (value: readonly string[]) => value.some(isLong), '/items'],
  ),
  'arrays in an array': changed(array(array(text)), [[], [[], ['vvqa']]], array(array(integer)), [
    'wrong_type',
    (value: readonly unknown[]) => value.length > 0,
    '/items/items',
  ]),
}

const UNIQUE = { field: 'no longer unique', index: 'an index that is no longer unique' }

export const PLANT_NAMES: readonly string[] = [...Object.keys(PLANTS), ...Object.values(UNIQUE)]

/** Names of which none is similar to another one. */
const NAMES = ['alpha', 'bridge', 'cumulus', 'dwarf', 'ecliptic', 'fjord', 'gymnast']

/** The documents of a collection, under two configurations. */
interface PlantedCollection {
  readonly plants: { readonly [name: string]: string }
  readonly before: Json
  readonly after: Json
  readonly documents: readonly Document[]
  readonly misfits: readonly Expected[]
  /** The fields of unique indexes that the second configuration does not declare. */
  readonly left: readonly (readonly string[])[]
}

export type StoredWorld = { readonly [collection: string]: PlantedCollection }

/** What each document of a collection has besides what is planted. */
const COMMON: { readonly [collection: string]: readonly [schema: Json, createFields: (i: number) => Json] } =
  {
    things: [{}, () => ({})],
    users: [
      {
        email: { ...text, unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
      (i) => ({ email: `vvq${i}@example.com`, password: 'vvqsecret' }),
    ],
    stuff: [{}, () => ({})],
  }

/** A random pair of configurations, with documents of the first and all the ways in which they do not fit the second. */
export const randomStored = (random: Random): StoredWorld =>
  Object.fromEntries(
    Object.keys(COMMON).map((collection) => [collection, randomCollection(random, collection)]),
  )

function randomCollection(random: Random, collection: string): PlantedCollection {
  const [common, createFields] = COMMON[collection] ?? [{}, () => ({})]
  const names = random.sample(NAMES, random.integer(0, NAMES.length))
  const [isUnique, isIndexed] = [random.chance(0.3), random.chance(0.3)]
  const chosen = Object.fromEntries(names.map((name) => [name, random.pick(Object.keys(PLANTS))]))
  const planted = names.map((name) => [name, PLANTS[chosen[name] ?? ''] as Plant] as const)
  const documents: readonly Document[] = Array.from({ length: random.integer(0, 8) }, (_, i) => {
    const valued = planted.flatMap(([name, { values }]) =>
      values.length > 0 && random.chance(0.8) ? [[name, random.pick(values)]] : [],
    )
    return {
      _id: idOf(i + 1),
      key: `vvq${i}`,
      kind: 'vvq',
      ...createFields(i),
      ...Object.fromEntries(valued),
    }
  })
  const found = planted.flatMap(([name, { misfits }]) =>
    misfits(
      name,
      documents.map((document) => [document._id, document[name]]),
    ),
  )
  const own = { key: text, kind: text, ...common }
  const after = { ...own, ...Object.assign({}, ...planted.map(([name, { after }]) => after(name))) }
  // A field that nobody may read is compared too.
  const hidden = random.sample(Object.keys(after), random.integer(0, 2))
  return {
    plants: {
      ...chosen,
      ...(isUnique ? { key: UNIQUE.field } : {}),
      ...(isIndexed ? { kind: UNIQUE.index } : {}),
    },
    before: {
      schema: {
        ...own,
        key: { ...text, unique: isUnique },
        ...Object.fromEntries(planted.flatMap(([name, { before }]) => (before ? [[name, before]] : []))),
      },
      ...(isIndexed ? { indexes: [{ fields: ['kind', 'key'], unique: true }] } : {}),
      permissions: { user: { read: true, create: true, update: true } },
    },
    after: {
      schema: after,
      permissions: { user: { read: { omit: hidden }, create: true, update: true } },
    },
    documents,
    misfits: addOnlyNames(found.filter(({ ids }) => ids.length > 0)),
    left: [...(isUnique ? [['key']] : []), ...(isIndexed ? [['kind', 'key']] : [])],
  }
}

/**
 * Adds the new names of names that are not declared: if no name is similar, the only required one of the same object that
 * no document has.
 */
const addOnlyNames = (found: readonly Expected[]): readonly Expected[] =>
  found.map((one) => {
    if (one.error !== 'unknown_property' || one.renamed !== undefined) return one
    const beside = found.filter(({ inside: other }) => other === one.inside)
    const names = beside.filter(({ error }) => error === 'unknown_property')
    const lacking = beside.filter(({ isAbsent }) => isAbsent === true)
    const isOnly = names.length === 1 && lacking.length === 1
    return isOnly ? { ...one, renamed: lacking[0]?.field.split('.').at(-1) } : one
  })

const LINE =
  /^\/collections\/(?<collection>\w+)(?<pointer>\/[^:]*): (?<what>.*); in (?<count>\d+) of the (?<read>\d+) stored documents that were read: (?<ids>.*)$/
const LEFT = /^\/collections\/(?<collection>\w+): .* different values in (?<field>[\w ]+), because/

/** Reads the warnings of a start. Fails for any other entry. */
function readWarnings(logged: readonly unknown[][]): readonly Json[] {
  return logged.map(([line, details]) => {
    const { code } = (details ?? {}) as Json
    expect(line).not.toMatch(MARK)
    if (code === 'left_unique') return { code, ...LEFT.exec(String(line))?.groups }
    const { collection, pointer, what = '', count, read, ids = '' } = LINE.exec(String(line))?.groups ?? {}
    const named =
      /^"(?<field>[^"]+)" is not in the schema, so no response shows it(?: \(renamed to "(?<renamed>\w+)"\?(?: then "\k<renamed>" needs "stored": "\w+")?\))?$/.exec(
        what,
      )
    const wrong = /^(?<field>\S+) .* \((?<error>\w+)\)$/.exec(what)
    const { field, error = 'unknown_property', renamed: newName } = { ...named?.groups, ...wrong?.groups }
    const counts = { count: Number(count), read: Number(read), ids }
    return { code, collection, pointer, field, error, renamed: newName, ...counts }
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

/** A configuration with each collection of a world as it is before or after. */
const configOf = (world: StoredWorld, when: 'before' | 'after'): Json => ({
  auth: { identifier: 'email', secret: 'password' },
  collections: Object.fromEntries(Object.entries(world).map(([name, planted]) => [name, planted[when]])),
})

/**
 * Starts a service with the second configuration on documents of the first. The log of the start and the check have exactly
 * what was planted, and no response has anything of it.
 */
export async function checkStored(
  { create, check }: StoredBuild,
  world: StoredWorld,
  connect: (seed?: StorageAdapter['seed']) => StorageAdapter,
): Promise<void> {
  const collections = Object.entries(world)
  const seed = Object.fromEntries(collections.map(([name, { documents }]) => [name, documents]))
  const former = await startAndCompare(configOf(world, 'before'), { create, adapter: connect(seed) })
  await former.handler.close()
  expect(former.logged).toEqual([])
  await forgetRecord(connect())

  const adapter = connect()
  const leftOf = ({ left }: PlantedCollection) => (adapter.leftUnique ? left : [])
  const service = await startAndCompare(configOf(world, 'after'), { create, adapter, holdsOthers: true })
  try {
    const reports = await check(configOf(world, 'after'), adapter)
    for (const [name, planted] of collections) {
      const report = reports.find(({ collection }) => collection === name)
      expect(report && inOrder(reported(report))).toEqual(
        inOrder(
          planted.misfits.map(({ field, error, ids, renamed: newName }) => ({
            field,
            error,
            count: ids.length,
            ids: ids.slice(0, 5),
            renamed: newName,
          })),
        ),
      )
      expect(report?.leftUnique.map(({ fields }) => fields.join()).sort()).toEqual(
        leftOf(planted)
          .map((fields) => fields.join())
          .sort(),
      )
    }
    expect(JSON.stringify(reports)).not.toMatch(MARK)
    const { text: root } = await service.send('GET /')
    expect(root).not.toMatch(/stored_|left_unique/)
    const expected = collections.flatMap(([collection, planted]) => [
      ...planted.misfits.map(({ ids, ...one }) => ({
        code: one.error === 'unknown_property' ? 'stored_undeclared' : 'stored_misfit',
        collection,
        pointer: one.pointer,
        field: one.field,
        error: one.error,
        renamed: one.renamed,
        count: ids.length,
        read: planted.documents.length,
        ids: `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}`,
      })),
      ...leftOf(planted).map((fields) => ({ code: 'left_unique', collection, field: fields.join(' and ') })),
    ])
    expect(inOrder(readWarnings(service.logged))).toEqual(inOrder(expected))
  } finally {
    await service.handler.close()
  }
}

/** Removes the record of earlier configurations, as releases had none: a start with one refuses other types. */
async function forgetRecord(adapter: StorageAdapter): Promise<void> {
  await adapter.open([{ name: '_schema', indexes: [] }])
  expect(await adapter.write([{ in: '_schema', remove: everything }], {})).toMatchObject({ removed: 1 })
  await adapter.close()
}

/** Starts a service, and waits until it has compared the stored documents. */
async function startAndCompare(
  config: Json,
  options: NonNullable<Parameters<typeof createTestService>[1]>,
): Promise<TestService> {
  const comparing: Promise<void>[] = []
  const background = (work: Promise<void>): void => void comparing.push(work)
  const service = createTestService(config, { ...options, background })
  await service.handler.ready()
  await Promise.all(comparing)
  return service
}

const reported = ({ misfits }: StoredReport): readonly Json[] =>
  misfits.map(({ field, error, count, ids, renamed: newName }) => ({
    field,
    error,
    count,
    ids,
    renamed: newName,
  }))
