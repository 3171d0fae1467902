import type { Migrations } from '../../src/tools/migrate/index.js'
import type { Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { idOf, LONG_AGO } from './stored.js'

/** Configurations one after another, and pairs of stores that show the same under the first of them, all at random. */

type Json = { readonly [name: string]: unknown }

/** A field of the collection. */
export interface Named {
  readonly name: string
  readonly stored: string
  readonly definition: Json
  /** Whether no rule shows it. */
  readonly isHidden: boolean
  /** Whether the configuration writes its stored name out, although it may be its own. */
  readonly isExplicit: boolean
}

/** What a configuration says of the collection. */
export interface Shape {
  readonly name: string
  readonly stored: string
  readonly isFree: boolean
  readonly fields: readonly Named[]
  /** The fields that earlier configurations declared, and this one does not. */
  readonly earlier: readonly Named[]
  readonly migrations: readonly string[]
  /** The stored names whose values shall go. */
  readonly erase: readonly string[]
  /** The stored names that are, or were, in `erase`. No field is stored under them again. */
  readonly erased: readonly string[]
}

/** A configuration that follows another one. */
export interface Change {
  readonly shape: Shape
  /** The code of its migrations. */
  readonly migrations: Migrations
  /** Whether it may show more than the one before it. */
  readonly isWider: boolean
  /** Whether its run erases. */
  readonly isErasing?: boolean
}

const text = { type: 'string' } as const

/** The field that each document has, by which a test knows how far a stream is. Nothing changes it. */
export const MARK = 'mark'

/** The field that says whether a document is shown. Nothing changes it. */
export const SHOWN = 'shown'

const FIXED: readonly Named[] = [
  [MARK, 'integer'],
  [SHOWN, 'boolean'],
].map(([name = '', type]) => ({
  name,
  stored: name,
  definition: { type },
  isHidden: false,
  isExplicit: false,
}))

const POOL: { readonly [name: string]: Json } = {
  a: text,
  b: text,
  n: { type: 'integer' },
  at: { type: 'timestamp' },
  o: { type: 'object', properties: { p: text, q: text } },
  l: { type: 'array', items: { type: 'object', properties: { p: text } } },
  s: { type: 'hash' },
}

const TEXTS = ['x', ' X ', 'y', 'Y ', 'z']
const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00+01:00', '2025-01-01T00:00:00Z']

/** The names under which no configuration has declared anything, and stored values lie. */
const UNDECLARED = ['u1', 'u2']

/** The names that documents do not have at first. */
const FRESH = Array.from({ length: 20 }, (_, i) => `f${i}`)

export const CALLER = { id: 'ann', roles: [] }

/** The collection in which migrations make documents. */
export const LOGS = 'logs'

/** Returns the configuration of a shape. */
export function configOf({ name, stored, isFree, fields, migrations, erase }: Shape): Json {
  const hidden = fields.flatMap((field) =>
    field.isHidden && field.definition.type !== 'hash' ? [field.name] : [],
  )
  const where = { [SHOWN]: true }
  return {
    collections: {
      [name]: {
        ...(stored === name ? {} : { stored }),
        schema: Object.fromEntries(
          fields.map((field) => [
            field.name,
            {
              ...field.definition,
              ...(field.isExplicit || field.stored !== field.name ? { stored: field.stored } : {}),
            },
          ]),
        ),
        permissions: {
          user: { read: { omit: hidden, where }, create: true, update: { omit: hidden, where } },
        },
        additionalProperties: isFree,
        ...(erase.length > 0 ? { erase } : {}),
        changes: true,
      },
      [LOGS]: { schema: { of: text }, permissions: { user: { read: true } } },
    },
    migrations,
  }
}

/**
 * Identifies what a storage records of a configuration: the stored names and their JSON types (CONTRACT.md §7, "Earlier
 * configurations"). An earlier configuration may come back, also one that reads and checks the same values otherwise.
 */
export const identify = ({ stored, fields }: Shape): string =>
  JSON.stringify([stored, sortTexts(fields.map((field) => [field.stored, describe(field.definition)]))])

const sortTexts = (values: readonly unknown[]): readonly string[] =>
  values.map((value) => JSON.stringify(value)).sort()

/** The JSON types of a value and, by stored names, of what is in it. */
const describe = ({ type, properties = {}, items }: Json): unknown => [
  type,
  sortTexts(
    Object.entries(properties as Json).map(([name, one]) => {
      const definition = one as Json
      return [definition.stored ?? name, describe(definition)]
    }),
  ),
  items === undefined ? null : describe(items as Json),
]

/** Draws the first configuration. */
export function drawShape(random: Random): Shape {
  const names = random.sample(Object.keys(POOL), random.integer(3, 6))
  const fields = names.map((name): Named => {
    const definition = POOL[name] ?? {}
    const isSecret = definition.type === 'hash'
    return { name, stored: name, definition, isHidden: isSecret || random.chance(0.5), isExplicit: false }
  })
  return {
    name: 'notes',
    stored: 'notes',
    isFree: random.chance(0.5),
    fields: [...FIXED, ...fields],
    earlier: [],
    migrations: [],
    erase: [],
    erased: [],
  }
}

function drawValue(random: Random, definition: Json): unknown {
  switch (definition.type) {
    case 'string':
      return random.pick(TEXTS)
    case 'integer':
      return random.integer(0, 2)
    case 'timestamp':
      return random.pick(TIMES)
    case 'array':
      return Array.from({ length: random.integer(0, 2) }, () => drawValue(random, definition.items as Json))
    default:
      return {
        ...Object.fromEntries(
          Object.entries(definition.properties as Json).flatMap(([name, one]) =>
            random.chance(0.7) ? [[name, drawValue(random, one as Json)]] : [],
          ),
        ),
        ...drawOld(random),
      }
  }
}

/** Values inside an object that no configuration declares. */
const drawOld = (random: Random): Json => ({
  ...(random.chance(0.5) ? { p1: random.pick(TEXTS) } : {}),
  ...(random.chance(0.3) ? { old: random.pick(TEXTS) } : {}),
})

/** Returns a value with other undeclared values inside its objects. */
function redrawOld(random: Random, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => redrawOld(random, one))
  if (typeof value !== 'object' || value === null) return value
  const { p1: _, old: __, ...declared } = value as Json
  return { ...declared, ...drawOld(random) }
}

/** Draws the values of some fields, as they are stored. */
const drawFields = (random: Random, fields: readonly Named[]): Json => {
  const values: { [name: string]: unknown } = {}
  for (const { name, definition } of fields) {
    if (random.chance(0.3)) continue
    if (definition.type === 'hash') values._hashes = { [name]: random.pick(TEXTS) }
    else values[name] = drawValue(random, definition)
  }
  return values
}

const drawUndeclared = (random: Random): Json =>
  Object.fromEntries(UNDECLARED.flatMap((name) => (random.chance(0.5) ? [[name, random.pick(TEXTS)]] : [])))

const SYSTEM = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 1 }

/** The documents of a store. */
export type Documents = readonly (Json & { readonly _id: string })[]

/** Draws two stores that the caller cannot tell apart. The first document is shown in both. */
export function drawPair(random: Random, { fields, isFree }: Shape): readonly [Documents, Documents] {
  const own = fields.filter(({ name }) => name !== MARK && name !== SHOWN)
  const [hidden, seen] = [own.filter((one) => one.isHidden), own.filter((one) => !one.isHidden)]
  const drawHidden = (): Json => ({
    ...drawFields(random, hidden),
    ...(isFree ? {} : drawUndeclared(random)),
  })
  const drawSecret = (_id: string) => ({
    _id,
    ...SYSTEM,
    [MARK]: 0,
    [SHOWN]: false,
    ...drawFields(random, seen),
    ...drawHidden(),
    ...(isFree ? drawUndeclared(random) : {}),
  })
  const pairs = Array.from({ length: 5 }, (_, i): readonly [Documents, Documents] => {
    const _id = idOf(2 * i + 1)
    const drawAlso = (free: number): Documents => (random.chance(0.4) ? [drawSecret(idOf(free))] : [])
    if (i > 0 && random.chance(0.3)) return [[drawSecret(_id)], random.chance(0.5) ? [drawSecret(_id)] : []]
    const shown: Json = {
      ...SYSTEM,
      [MARK]: 0,
      [SHOWN]: true,
      ...drawFields(random, seen),
      ...(isFree ? drawUndeclared(random) : {}),
    }
    const other = Object.fromEntries(
      Object.entries(shown).map(([name, one]) => [name, redrawOld(random, one)]),
    )
    return [
      [{ _id, ...shown, ...drawHidden() }],
      [{ _id, ...other, ...drawHidden() }, ...drawAlso(2 * i + 2)],
    ]
  })
  return [pairs.flatMap(([one]) => one), pairs.flatMap(([, other]) => other)]
}

type Draw = (random: Random, shape: Shape, step: number) => Change | undefined

const narrow = (shape: Shape): Change => ({ shape, migrations: {}, isWider: false })

const replace = (shape: Shape, field: Named, ...by: readonly Named[]): Shape => ({
  ...shape,
  fields: shape.fields.flatMap((one) => (one === field ? by : [one])),
})

const drop = (shape: Shape, field: Named): Shape => ({
  ...replace(shape, field),
  earlier: [...shape.earlier, field],
})

const changeable = ({ fields }: Shape): readonly Named[] =>
  fields.filter(({ name }) => name !== MARK && name !== SHOWN)

const freshName = (random: Random, { fields, earlier }: Shape): string =>
  random.pick(
    FRESH.filter((name) => [...fields, ...earlier].every((one) => one.name !== name && one.stored !== name)),
  )

/** Draws a field that a change is about; `undefined` if there is none. */
const drawField = (
  random: Random,
  shape: Shape,
  isFitting: (field: Named) => boolean = () => true,
): Named | undefined => {
  const fitting = changeable(shape).filter(isFitting)
  return fitting.length > 0 ? random.pick(fitting) : undefined
}

const isText = ({ definition }: Named): boolean => definition.type === 'string'

/** What may change, by name. */
export const CHANGES: { readonly [name: string]: Draw } = {
  rename(random, shape) {
    const field = drawField(random, shape)
    if (!field) return undefined
    // The new name may be one under which an earlier field, or a value that was never declared, is stored.
    const taken = shape.fields.map(({ name }) => name)
    const old = shape.earlier.map(({ stored }) => stored)
    const free = [...old, ...UNDECLARED, freshName(random, shape)].filter((name) => !taken.includes(name))
    return narrow(replace(shape, field, { ...field, name: random.pick(free) }))
  },
  exchange(random, shape) {
    const [one, other] = random.sample(changeable(shape), 2)
    if (!one || !other) return undefined
    const fields = shape.fields.map((field) =>
      field === one ? { ...one, name: other.name } : field === other ? { ...other, name: one.name } : field,
    )
    return narrow({ ...shape, fields })
  },
  renameInside(random, shape) {
    const field = drawField(
      random,
      shape,
      ({ definition: { type } }) => type === 'object' || type === 'array',
    )
    if (!field) return undefined
    const rename = (definition: Json): Json => {
      if (definition.items) return { ...definition, items: rename(definition.items as Json) }
      const { p, ...others } = (definition.properties ?? {}) as { readonly [name: string]: Json }
      return p ? { ...definition, properties: { ...others, p1: { ...p, stored: 'p' } } } : definition
    }
    return narrow(replace(shape, field, { ...field, definition: rename(field.definition) }))
  },
  renameCollection: (_, shape, step) => narrow({ ...shape, name: `notes${step}` }),
  drop(random, shape) {
    const field = drawField(random, shape)
    return field && narrow(drop(shape, field))
  },
  /** A rename that does not say where the values are. */
  forget(random, shape) {
    const field = drawField(random, shape, ({ definition }) => definition.type !== 'hash')
    if (!field) return undefined
    const name = freshName(random, shape)
    const after = drop(shape, field)
    const renamed = { ...field, name, stored: name, isHidden: false, isExplicit: false }
    return narrow({ ...after, fields: [...after.fields, renamed] })
  },
  /** An earlier field is declared again, and perhaps shown. */
  again(random, shape) {
    const free = shape.earlier.filter(
      ({ stored }) =>
        !shape.erased.includes(stored) &&
        shape.fields.every((field) => field.name !== stored && field.stored !== stored),
    )
    if (free.length === 0) return undefined
    const field = random.pick(free)
    const isHidden = field.definition.type === 'hash' || random.chance(0.3)
    const isExplicit = random.chance(0.4)
    const declared = { ...field, name: field.stored, isHidden, isExplicit }
    const earlier = shape.earlier.filter((one) => one.stored !== field.stored)
    return {
      shape: { ...shape, fields: [...shape.fields, declared], earlier },
      migrations: {},
      isWider: isExplicit && !isHidden,
    }
  },
  add(random, shape) {
    const name = freshName(random, shape)
    const definition = { ...text, required: true, fill: random.pick(['x', 'y']) }
    const field = { name, stored: name, definition, isHidden: random.chance(0.5), isExplicit: false }
    return narrow({ ...shape, fields: [...shape.fields, field] })
  },
  fill(random, shape) {
    const field = drawField(random, shape, isText)
    if (!field) return undefined
    const definition = { ...field.definition, required: true, fill: 'x' }
    return narrow(replace(shape, field, { ...field, definition }))
  },
  form(random, shape) {
    const field = drawField(random, shape, isText)
    if (!field) return undefined
    const definition = { ...field.definition, lowercase: true, trim: true }
    return narrow(replace(shape, field, { ...field, definition }))
  },
  hide(random, shape) {
    const field = drawField(random, shape, ({ isHidden }) => !isHidden)
    return field && narrow(replace(shape, field, { ...field, isHidden: true }))
  },
  reveal(random, shape) {
    const field = drawField(random, shape, (one) => one.isHidden && one.definition.type !== 'hash')
    if (!field) return undefined
    return { ...narrow(replace(shape, field, { ...field, isHidden: false })), isWider: true }
  },
  /** The values of an earlier field, or of a name that was never declared, are removed. What was erased may leave the list. */
  erase(random, shape) {
    const names = [...shape.earlier.map(({ stored }) => stored), ...UNDECLARED]
    const free = names.filter((one) => shape.fields.every(({ stored }) => stored !== one))
    if (free.length === 0) return undefined
    const name = random.pick(free)
    const erase = [...new Set([...(random.chance(0.5) ? shape.erase : []), name])]
    const erased = [...new Set([...shape.erased, name])]
    return { ...narrow({ ...shape, erase, erased }), isErasing: true }
  },
  /** Code that copies nothing hidden to where it is shown, and does something with everything else. */
  migrate(random, shape, step) {
    const hidden = drawField(random, shape, (one) => one.isHidden && isText(one))
    const shown = drawField(random, shape, (one) => !one.isHidden && isText(one))
    const [removed] = random.sample(UNDECLARED, shape.isFree ? 0 : 1)
    const name = `m${step}`
    const migrations: Migrations = {
      [name]: {
        collections: {
          [shape.stored](document) {
            if (document[SHOWN] !== true && /[37]$/.test(document._id)) return { remove: true }
            const log = { _id: document._id.replace(/^.{8}/, `${step}`.padStart(8, '0')), of: name }
            return {
              ...(document[SHOWN] === true ? { also: [{ in: LOGS, document: log }] } : {}),
              set: {
                ...(hidden ? { [hidden.stored]: `${document[hidden.stored] ?? ''}!` } : {}),
                ...(shown ? { [shown.stored]: `${document[shown.stored] ?? ''}?` } : {}),
                ...(removed === undefined ? {} : { [removed]: null }),
              },
            }
          },
        },
      },
    }
    return { shape: { ...shape, migrations: [...shape.migrations, name] }, migrations, isWider: false }
  },
}

/** Draws the configuration that follows; `only`: by this change. */
export function drawChange(random: Random, shape: Shape, step: number, only?: string): Change {
  // Early drops, and late returns: the configuration before the last one may come back, and shows what it had.
  const early = step === 1 ? ['drop', 'forget'] : []
  const late = step > 2 ? ['again', 'again', 'again', 'again'] : []
  const names = only === undefined ? [...Object.keys(CHANGES), ...early, ...early, ...late] : [only]
  // Where none of them is possible, another collection name is.
  const drawn = names.map(() => random.pick(names)).map((name) => CHANGES[name]?.(random, shape, step))
  return drawn.find((one) => one !== undefined) ?? narrow({ ...shape, name: `notes${step}` })
}
