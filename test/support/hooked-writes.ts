import { createHash } from 'node:crypto'
import { type CollectionHooks, type HookChange, type HookResult, refuse } from '../../src/index.js'
import fc from './fast-check.js'
import { viewsOf } from './oracle.js'
import type { WriteSource } from './write-laws.js'
import {
  bodyOf,
  operationOf,
  PLAIN_PEOPLE,
  pairsOf,
  thingSchemas,
  type WriteWorld,
  withRequests,
} from './write-worlds.js'

type Json = { readonly [name: string]: unknown }
type Pair = Omit<WriteWorld, 'requests'>

/** A document that hooks change, and that everyone may read. */
const NOTE = '0190163d-8694-7000-8000-000000005000'
const notes = {
  schema: { text: { type: 'string' }, key: { type: 'string', unique: true } },
  permissions: { user: { read: true } },
}

/** What a hook may answer: often nothing. */
const answersOf = ({ config }: Pair): readonly ((id: string) => HookResult | undefined)[] => {
  const { schema } = config.collections.things
  const patch = (text: string) => ({
    also: [{ method: 'PATCH', path: `/notes/${NOTE}`, body: { text } } as const],
  })
  const own = (t: string) => (id: string) => ({
    also: [{ method: 'PATCH', path: `/things/${id}`, body: { t } } as const],
  })
  const isFree = (name: string): boolean => Object.hasOwn(schema, name) && !(schema[name] as Json).immutable
  const nothing = () => undefined
  return [
    ...[nothing, nothing, own('told')],
    (id) => ({ ...own('b')(id), set: { t: 'a' } }),
    () => ({ set: { t: 'a' } }),
    () => ({ set: { t: null } }),
    () => ({ also: [{ method: 'GET', path: `/notes/${NOTE}` } as const] }),
    () => patch('one'),
    () => ({ ...patch('two'), set: { t: 'b' } }),
    () => refuse(422, 'Not so.', [{ path: '/t', code: 'rude', message: 'is rude' }]),
    () => refuse(409, 'Not now.'),
    ...(isFree('s') ? [() => ({ set: { s: 'b' } })] : []),
    ...(isFree('u') ? [() => ({ set: { u: 'a1' } })] : []),
  ]
}

/** How many new things lacked what their hook fills. */
export const filled = { things: 0 }

/** What a hook gives a new thing that lacks it: one value for each type. */
const FILLINGS: Json = { string: 'a', integer: 0, json: { filled: true } }

/** The required fields of things that a hook fills, some of them hidden from the caller: all, or every other one. */
const fillsOf = ({ config }: Pair, salt: number): readonly string[] =>
  Object.entries(config.collections.things.schema as { [name: string]: Json })
    .filter(
      ([, { type, required, default: own }]) =>
        required === true && own === undefined && Object.hasOwn(FILLINGS, String(type)),
    )
    .map(([name]) => name)
    .filter((_, i) => salt % 3 !== 0 || i % 2 === 0)

/** Without what is random, and in one order. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => name !== 'updatedAt')
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)]),
  )
}

/**
 * The new view without properties that the write does not change, but makes readable: a hook that goes by them may undo
 * the write, and the caller would learn of them from what it does.
 */
const pickKnown = (young: Json, old: Json, { before, after }: HookChange): Json => {
  const textIn = (document: unknown, name: string) => JSON.stringify((document as Json | null)?.[name])
  return Object.fromEntries(
    Object.entries(young).filter(
      ([name]) => Object.hasOwn(old, name) || textIn(before, name) !== textIn(after, name),
    ),
  )
}

/** One hook in so many reads with full rights what its caller may not see. */
const READS_WHOLE = 2

/** Reads with full rights, and goes by nothing of it. */
async function readWhole({ before, after, api }: HookChange): Promise<void> {
  const paths = ['/things', '/people/count', `/things/${(after ?? before)?._id}`, `/notes/${NOTE}`]
  for (const path of paths) await (await api.system(new Request(`http://service.test${path}`))).text()
}

/**
 * A hook that is a function of what the caller sees of the change; where the caller sees nothing of it, it says
 * nothing.
 */
function hookOf(pair: Pair, name: 'things' | 'people', salt: number): CollectionHooks {
  const collection = pair.config.collections[name]
  const answers = answersOf(pair)
  const fills = name === 'things' ? fillsOf(pair, salt) : []
  const complete = (after: Json | null): Json => {
    const lost = fills.filter((field) => after !== null && !Object.hasOwn(after, field))
    const typeOf = (field: string) => String((collection.schema[field] as Json).type)
    return Object.fromEntries(lost.map((field) => [field, FILLINGS[typeOf(field)]]))
  }
  const see = (document: Json | null): unknown => {
    const [view] = document ? viewsOf(collection, [document], pair.caller) : []
    return view && sorted(view)
  }
  const answer = (change: HookChange): HookResult | undefined => {
    const { operation, before, after } = change
    const [old, shown] = [see(before as Json | null), see(after as Json | null)]
    const young = old && shown ? pickKnown(shown as Json, old as Json, change) : shown
    const { _id, ...fields } = (young ?? {}) as Json
    const seen = JSON.stringify(operation === 'create' ? [fields] : [old, young])
    if (operation !== 'create' && JSON.stringify(old) === JSON.stringify(young)) return undefined
    const [first = 0] = createHash('sha256').update(`${salt} ${operation} ${seen}`).digest()
    const answer = answers[first % answers.length]?.(String((after ?? before)?._id))
    // Nothing can be changed of what is deleted, nor the fields of things on people.
    const isOwn = answer?.set || answer?.also?.some(({ path }) => path.startsWith('/things/'))
    if (isOwn && (operation === 'delete' || name === 'people')) return undefined
    return answer
  }
  return {
    fills: fills as readonly never[],
    async before(change: HookChange) {
      if (salt % READS_WHOLE === 0) await readWhole(change)
      const given = answer(change)
      const filling = change.operation === 'create' ? complete(change.after) : {}
      if (Object.keys(filling).length > 0) filled.things += 1
      return Object.keys(filling).length === 0 ? given : { ...given, set: { ...filling, ...given?.set } }
    },
  }
}

const worldsOf = (
  schemas: typeof thingSchemas,
  operationIn?: Parameters<typeof withRequests>[1],
): fc.Arbitrary<WriteWorld> =>
  fc
    .tuple(pairsOf(schemas, PLAIN_PEOPLE), fc.nat(1000))
    .map(([world, salt]): Pair => {
      const { config, pair } = world
      const [here, there] = pair
      const note: Json = { _id: NOTE, text: '', createdBy: null }
      return {
        ...world,
        config: { ...config, collections: { ...config.collections, notes } },
        hooks: { things: hookOf(world, 'things', salt), people: hookOf(world, 'people', salt) },
        pair: [
          { ...here, notes: [note] },
          { ...there, notes: [note] },
        ],
      }
    })
    .chain((world) => withRequests(world, operationIn))

/** Writes that hooks change, refuse and add to. */
export const HOOKED_WRITES: WriteSource = { worlds: worldsOf(thingSchemas) }

/** Nothing is required but what a hook fills. */
const lacking = thingSchemas.map(
  (schema): Json => ({
    ...Object.fromEntries(
      Object.entries(schema as { [name: string]: Json }).map(([name, { required: _, ...one }]) => [
        name,
        one,
      ]),
    ),
    q: { type: 'string', required: true },
    z: { type: 'integer', required: true },
  }),
)

/** Writes of things of which each has fields that a hook fills: many are new, and lack them. */
export const FILLED_WRITES: WriteSource = {
  worlds: worldsOf(lacking, (world) =>
    fc.oneof(
      operationOf(world),
      bodyOf(world.config.collections.things.schema, 'create').map((body) => ({
        line: 'POST /things',
        body,
      })),
    ),
  ),
}
