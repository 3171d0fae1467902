import { compileField } from '../../../../core/filter/compare.js'
import type { FieldRef } from '../../../../core/filter/filter.js'
import type { IndexPlan, StoredDocument, WriteStep } from '../../../../core/storage.js'
import { documentOf, eq, fieldOf, ID } from '../check/documents.js'
import { anyValues, confusableTexts, scalarTypes, valuesOfType, valueTypes } from '../check/edge-values.js'
import { applyPlainly } from '../check/plain-write.js'
import type { Random } from './random.js'

/** The steps of a write to the collection of a store. The value of `in` is ignored. */
type RandomWrite = readonly WriteStep[]

const VERSION = fieldOf('_version', 'integer')

const WRITES = 12
const MOST_STEPS = 8

/** Ids that no document of a random store has. */
const NEW = ['+', '+1', '+2'] as const

/** An `_id` that no write inserts. */
export const NOBODY = '?'

/** Draws a step, usually for an existing document and its current version. */
export function drawStep(random: Random, documents: ReadonlyMap<string, StoredDocument>): WriteStep {
  const present = random.pick([...documents.keys(), NEW[0]])
  const fresh = random.pick(NEW)
  const id = random.chance(0.9) ? present : fresh
  const version = (documents.get(id)?._version ?? 1) + (random.chance(0.85) ? 0 : random.pick([-1, 1]))
  const step = random.pick<() => WriteStep>([
    () => ({ in: '', require: id, version }),
    () => ({ in: '', require: id, version }),
    () => ({ in: '', require: id }),
    () => ({
      in: '',
      require: id,
      ...(random.chance(0.5) ? { version: version + random.pick([0, 0, 1]) } : {}),
      where: { kind: random.pick(['eq', 'gte', 'lte']), field: VERSION, value: version },
    }),
    () => ({ in: '', insert: { _id: random.chance(0.9) ? fresh : present, _version: random.integer(1, 3) } }),
    () => ({ in: '', replace: { _id: id, _version: version + 1 }, version }),
    () => ({ in: '', remove: eq(ID, id), ...(random.chance(0.5) ? { expect: 1 } : {}) }),
    () => ({ in: '', refuse: eq(ID, fresh) }),
  ])
  return step()
}

/** Draws writes. Each ends with the first step that is rejected, or has only steps that succeed. */
export function drawWrites(random: Random, documents: readonly StoredDocument[]): readonly RandomWrite[] {
  return Array.from({ length: WRITES }, () => {
    const left = new Map(documents.map((document) => [document._id, document]))
    const steps: WriteStep[] = []
    for (let isRefused = false; !isRefused && steps.length < MOST_STEPS; ) {
      const step = drawStep(random, left)
      steps.push(step)
      isRefused = applyPlainly(left, step) !== undefined
    }
    return steps
  })
}

/** A field, and the few values that it has in one store. */
export interface PooledField {
  readonly ref: FieldRef
  readonly values: readonly unknown[]
}

/**
 * The history of one document. `before` is its earlier state, if it was replaced or removed. `document` is its final
 * state, unless it was removed.
 */
export interface Life {
  readonly before?: StoredDocument
  readonly document?: StoredDocument
}

/** The data of a store of the fuzzer. */
export interface RandomStore {
  readonly indexes: readonly IndexPlan[]
  readonly lives: readonly Life[]
  /** Writes that run after all others. A step that fails is appended to each, so none of them may have an effect. */
  readonly writes: readonly RandomWrite[]
}

/** A store, and the fields that its queries use. */
export interface FieldedStore extends Omit<RandomStore, 'writes'> {
  readonly fields: readonly PooledField[]
}

const TOP = ['a', 'b', 'c', 'd', 'E', 'f_1'] as const
const NESTED = ['o.x', 'o.y', 'o.z.w', 'p.x'] as const
const LISTS = ['l', 'm', 'o.l'] as const

function drawField(random: Random, path: string, each: boolean): PooledField {
  const type =
    each || random.chance(0.85) ? random.pick([...scalarTypes, 'string' as const]) : random.pick(valueTypes)
  const values = random.sample(valuesOfType[type], random.integer(2, 5))
  const ref = fieldOf(path, type, each)
  const inside = each && random.chance(0.3) ? random.pick(['x', 'x.y']) : undefined
  return {
    ref: inside === undefined ? ref : { ...ref, inside },
    values: type === 'string' ? [...values, ...drawConfusable(random)] : values,
  }
}

/** Draws strings that databases confuse with each other. A random choice would rarely contain such strings together. */
const drawConfusable = (random: Random): readonly string[] =>
  random.sample(random.pick(confusableTexts), random.integer(2, 5))

const drawFields = (random: Random): readonly PooledField[] => [
  ...random.sample(TOP, random.integer(2, 5)).map((path) => drawField(random, path, false)),
  ...random.sample(NESTED, random.integer(1, 3)).map((path) => drawField(random, path, false)),
  ...random.sample(LISTS, random.integer(1, 2)).map((path) => drawField(random, path, true)),
]

function drawIndexes(random: Random, fields: readonly PooledField[]): readonly IndexPlan[] {
  const refs = fields.map(({ ref }) => ref).filter(({ type }) => isScalar(type))
  if (refs.length === 0) return []
  return Array.from({ length: random.integer(0, 4) }, () => {
    const drawn = random.sample(refs, random.pick([1, 1, 2, 3]))
    const element = drawn.find(({ each }) => each)
    const isPlain = !element && !drawn.some(({ path }) => path.includes('.'))
    return {
      fields: drawn.filter((field) => !field.each || field === element),
      unique: isPlain && random.chance(0.25),
    }
  })
}

const isScalar = (type: FieldRef['type']): boolean => scalarTypes.some((scalar) => scalar === type)

/** Draws the value of a field. `undefined` means that the value is missing. */
function drawValue(random: Random, { ref, values }: PooledField): unknown {
  const fate = random.next()
  if (fate < 0.12) return undefined
  if (fate < 0.2) return random.pick(anyValues)
  if (!ref.each) return random.pick(values)
  const elements = Array.from({ length: random.integer(0, 3) }, () => wrap(random.pick(values), ref.inside))
  return random.chance(0.2) ? [...elements, random.pick(anyValues)] : elements
}

/** Returns an array element that has the value at the path `inside`. */
const wrap = (value: unknown, inside: string | undefined): unknown =>
  inside === undefined ? value : inside.split('.').reduceRight((held, name) => ({ [name]: held }), value)

function setPath(
  target: { [name: string]: unknown },
  [name = '', ...rest]: readonly string[],
  value: unknown,
): void {
  if (rest.length === 0) {
    target[name] = value
    return
  }
  const inner = target[name] ?? {}
  // The path may already lead through a scalar or an array. Then the value is not set.
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return
  target[name] = inner
  setPath(inner as { [name: string]: unknown }, rest, value)
}

function drawProperties(random: Random, fields: readonly PooledField[]): { [name: string]: unknown } {
  const properties: { [name: string]: unknown } = {}
  if (random.chance(0.1)) properties.o = random.pick(anyValues.filter((value) => typeof value !== 'object'))
  if (random.chance(0.05)) properties.p = random.pick([null, [], [{ x: 'a' }], { x: { x: 1 } }])
  for (const field of fields) {
    const value = drawValue(random, field)
    if (value !== undefined) setPath(properties, field.ref.path.split('.'), value)
  }
  // Sometimes replaces an object with an array that contains it, to test that no path leads into an array.
  for (const name of ['o', 'p'])
    if (name in properties && random.chance(0.1)) properties[name] = [properties[name]]
  return properties
}

/**
 * Returns the values of a document in a unique index as JSON, or `undefined` if the index does not contain the
 * document.
 */
function keyOf({ fields }: IndexPlan, document: StoredDocument): string | undefined {
  const values = fields.map((field) => compileField(field)(document))
  return values.includes(undefined) ? undefined : JSON.stringify(values)
}

/** Returns the values that the current and the earlier state of a document have in a unique index. */
const keysOf = (index: IndexPlan, { before, document }: Life): readonly string[] =>
  [before, document].flatMap((one) => (one && keyOf(index, one)) ?? [])

/** Removes documents that would violate a unique index in their current or earlier state. */
function keepUnique(lives: readonly Life[], indexes: readonly IndexPlan[]): readonly Life[] {
  const unique = indexes.filter((index) => index.unique)
  const owners = unique.map(() => new Map<string, Life>())
  return lives.filter((life) => {
    const keys = unique.map((index) => keysOf(index, life))
    for (const [i, held] of keys.entries()) for (const key of held) if (owners[i]?.has(key)) return false
    for (const [i, held] of keys.entries()) for (const key of held) owners[i]?.set(key, life)
    return true
  })
}

const ID_CHARACTERS = [...'aAbBzZ019-_']

function drawIds(random: Random, count: number): readonly string[] {
  const ids = new Set<string>()
  while (ids.size < count) {
    ids.add(Array.from({ length: random.integer(1, 5) }, () => random.pick(ID_CHARACTERS)).join(''))
  }
  return [...ids]
}

/** Draws a store with up to 40 documents, whose fields have only a few different edge values. */
export function drawStore(random: Random): FieldedStore {
  const fields = drawFields(random)
  const indexes = drawIndexes(random, fields)
  const lives = drawIds(random, random.integer(3, 40)).map((id): Life => {
    const draw = (): StoredDocument => documentOf(id, drawProperties(random, fields))
    const fate = random.next()
    if (fate < 0.05) return { before: draw() }
    return fate < 0.2 ? { before: draw(), document: { ...draw(), _version: 2 } } : { document: draw() }
  })
  return { fields, indexes, lives: keepUnique(lives, indexes) }
}
