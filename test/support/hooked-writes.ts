import { createHash } from 'node:crypto'
import { type CollectionHooks, type HookChange, type HookResult, refuse } from '../../src/index.js'
import fc from './fast-check.js'
import { viewsOf } from './oracle.js'
import type { WriteSource } from './write-laws.js'
import { PLAIN_PEOPLE, pairsOf, thingSchemas, type WriteWorld, withRequests } from './write-worlds.js'

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
 * A hook that is a function of what the caller sees of the change; where the caller sees nothing of it, it says
 * nothing.
 */
function hookOf(pair: Pair, name: 'things' | 'people', salt: number): CollectionHooks {
  const collection = pair.config.collections[name]
  const answers = answersOf(pair)
  const see = (document: Json | null): unknown => {
    const [view] = document ? viewsOf(collection, [document], pair.caller) : []
    return view && sorted(view)
  }
  return {
    before({ operation, before, after }: HookChange) {
      const [old, young] = [see(before as Json | null), see(after as Json | null)]
      const { _id, ...fields } = (young ?? {}) as Json
      const seen = JSON.stringify(operation === 'create' ? [fields] : [old, young])
      if (operation !== 'create' && JSON.stringify(old) === JSON.stringify(young)) return undefined
      const [first = 0] = createHash('sha256').update(`${salt} ${operation} ${seen}`).digest()
      const answer = answers[first % answers.length]?.(String((after ?? before)?._id))
      // Nothing can be changed of what is deleted, nor the fields of things on people.
      const isOwn = answer?.set || answer?.also?.some(({ path }) => path.startsWith('/things/'))
      if (isOwn && (operation === 'delete' || name === 'people')) return undefined
      return answer
    },
  }
}

const worlds: fc.Arbitrary<WriteWorld> = fc
  .tuple(pairsOf(thingSchemas, PLAIN_PEOPLE), fc.nat(1000))
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
  .chain((world) => withRequests(world))

/** Writes that hooks change, refuse and add to. */
export const HOOKED_WRITES: WriteSource = { worlds }
