import {
  applyCreate,
  applyUpdate,
  type Chosen,
  chooseRule,
  FORBIDDEN,
  fieldsOf,
  type Refusal,
  type Sight,
} from './apply.js'
import {
  FIELDS,
  type Json,
  NOW,
  type SmallCaller,
  type SmallCollection,
  type SmallConfig,
  type SmallRequest,
  STORED_ID,
} from './universe.js'
import { appliesTo, forEachCaller, isRole, type SmallRule, tableOf } from './written-rules.js'

/**
 * What a request must be answered and must leave behind, computed from the contract (§2, §4, §5) and the written
 * configuration alone. Imports nothing of the library: it is the second opinion.
 */

/** An answer, and what is stored afterwards. */
export interface SmallAnswer {
  readonly status: number
  readonly code?: string
  /** The faults of the body, each as its path and its code, sorted. */
  readonly errors: readonly string[]
  /** The document as its caller may read it, without `_id`; absent where none is answered. */
  readonly shown?: Json
  /** The declared fields that are stored afterwards; `null` where there is no document. */
  readonly stored: Json | null
  /** The names of the body that were dropped, sorted. */
  readonly ignored: readonly string[]
}

/** Judges one request of a caller, where this document is the only one that is stored. */
export type Judge = (caller: SmallCaller | null, document: Json, request: SmallRequest) => SmallAnswer

const SHOWN: readonly string[] = [...FIELDS, 'createdAt', 'updatedAt', 'createdBy']

/** The most rules that a write tries. */
const MOST = 64

/** Creates the judge of a configuration; `most` is for one that would try another number of rules. */
export function createJudge(config: SmallConfig, most = MOST): Judge {
  const judges = new Map(
    Object.entries(config.collections).map(([name, collection]) => [name, judgeCollection(collection, most)]),
  )
  return (caller, document, request) => {
    const found = judges.get(request.collection)
    if (!found) throw new Error(`no collection ${request.collection}`)
    return found.judge(caller, document, request)
  }
}

/** All that an answer to an update depends on beside its body. */
export interface Ground {
  readonly caller: SmallCaller | null
  readonly document: Json
  readonly sight: Sight
  /** The rules whose `where` the document meets, in their order. */
  readonly rules: readonly SmallRule[]
}

/** The judge of a collection, and its parts. */
export interface CollectionJudge {
  readonly judge: Judge
  /** Who may read: the rules that apply to a caller. */
  readonly readersOf: (caller: SmallCaller | null) => readonly SmallRule[]
  /** The rules that may be tried for a caller, in their order. */
  readonly writersOf: {
    readonly [kind in 'create' | 'update' | 'delete']: (caller: SmallCaller | null) => readonly SmallRule[]
  }
  /** What every update of a document has in common. */
  readonly findGround: (caller: SmallCaller | null, document: Json) => Ground | Refusal
  /** What comes of one body. */
  readonly update: (ground: Ground, body: Json, isPut: boolean) => Chosen
}

const UNAUTHENTICATED: Refusal = { status: 401, code: 'unauthenticated' }
const NOT_FOUND: Refusal = { status: 404, code: 'not_found' }

const denied = (caller: SmallCaller | null): Refusal => (caller === null ? UNAUTHENTICATED : FORBIDDEN)

/** The answer that refuses, and leaves what is stored. */
export const refuse = (
  { status, code }: Refusal,
  stored: Json | null,
  errors: readonly string[] = [],
): SmallAnswer => ({ status, code, errors, stored, ignored: [] })

/** The answer to a write, without what is shown. */
export const answerChosen = (status: number, before: Json | null, chosen: Chosen): SmallAnswer =>
  'fields' in chosen
    ? { status, errors: [], stored: chosen.fields, ignored: chosen.ignored }
    : refuse(chosen, before, chosen.errors)

/** Creates the judge of a collection. */
export function judgeCollection({ schema, permissions }: SmallCollection, most = MOST): CollectionJudge {
  const table = tableOf(schema, permissions)
  const readersOf = forEachCaller((caller) =>
    [...table.read.values()].flat().filter((rule) => appliesTo(rule.subject, caller)),
  )
  const look = (caller: SmallCaller | null, document: Json): Sight => {
    const matching = readersOf(caller).filter((rule) => rule.where(caller)(document))
    return { isThere: matching.length > 0, shows: (name) => matching.some((rule) => rule.includes(name)) }
  }
  const show = (caller: SmallCaller | null, document: Json): Json => {
    const { shows } = look(caller, document)
    const shown: { [name: string]: unknown } = {}
    for (const name of SHOWN) if (document[name] !== undefined && shows(name)) shown[name] = document[name]
    return shown
  }
  const findWriters = (operation: 'create' | 'update' | 'delete', caller: SmallCaller | null) => {
    const mentions = table[operation]
    const roles = [...mentions.keys()].filter((subject) => isRole(subject) && appliesTo(subject, caller))
    const decisive = roles.length > 0 ? roles : caller && mentions.has('user') ? ['user'] : ['*']
    const subjects = caller ? [...decisive, 'owner'] : ['*']
    return subjects.flatMap((subject) => mentions.get(subject) ?? []).slice(0, most)
  }
  const writersOf = {
    create: forEachCaller((caller) => findWriters('create', caller)),
    update: forEachCaller((caller) => findWriters('update', caller)),
    delete: forEachCaller((caller) => findWriters('delete', caller)),
  }
  /** The same rules are the same list, so that what depends on them and a body alone is computed once. */
  const fittingOf = forEachCaller((caller) => {
    const known = new Map<string, readonly SmallRule[]>()
    return (document: Json): readonly SmallRule[] => {
      const fitting = writersOf.update(caller).filter((rule) => rule.where(caller)(document))
      const key = fitting.map(({ subject, place }) => `${subject}/${place}`).join()
      const same = known.get(key) ?? fitting
      known.set(key, same)
      return same
    }
  })

  const findGround = (caller: SmallCaller | null, document: Json): Ground | Refusal => {
    if (writersOf.update(caller).length === 0 && caller === null) return UNAUTHENTICATED
    const sight = look(caller, document)
    if (!sight.isThere) return NOT_FOUND
    const rules = fittingOf(caller)(document)
    return rules.length === 0 ? denied(caller) : { caller, document, sight, rules }
  }
  const update = ({ rules, ...ground }: Ground, body: Json, isPut: boolean): Chosen =>
    chooseRule(rules, body, (rule, kept) => applyUpdate(schema, { ...ground, rule, kept, isPut }))

  const judge: Judge = (caller, document, { operation, body = {} }) => {
    const before = operation === 'create' ? null : fieldsOf(document)
    if (operation === 'read') {
      const readers = readersOf(caller)
      if (readers.length === 0) return refuse(caller === null ? UNAUTHENTICATED : NOT_FOUND, before)
      if (!look(caller, document).isThere) return refuse(NOT_FOUND, before)
      return { status: 200, errors: [], shown: show(caller, document), stored: before, ignored: [] }
    }
    if (operation === 'create') {
      const rules = writersOf.create(caller)
      if (rules.length === 0) return refuse(denied(caller), before)
      const answer = answerChosen(
        201,
        before,
        chooseRule(rules, body, (rule, kept) => applyCreate(schema, rule, kept, caller)),
      )
      if (answer.status !== 201) return answer
      const system = { _id: STORED_ID, createdAt: NOW, updatedAt: NOW, createdBy: caller?.id ?? null }
      return { ...answer, shown: show(caller, { ...answer.stored, ...system }) }
    }
    if (operation === 'delete') {
      const rules = writersOf.delete(caller)
      if (rules.length === 0 && caller === null) return refuse(UNAUTHENTICATED, before)
      if (!look(caller, document).isThere) return refuse(NOT_FOUND, before)
      const isFitting = rules.some((rule) => rule.where(caller)(document))
      return isFitting
        ? { status: 204, errors: [], stored: null, ignored: [] }
        : refuse(denied(caller), before)
    }
    const ground = findGround(caller, document)
    if ('status' in ground) return refuse(ground, before)
    const chosen = update(ground, body, operation === 'put')
    const answer = answerChosen(200, before, chosen)
    if (!('fields' in chosen)) return answer
    const { _id, createdAt, createdBy } = document
    const updatedAt = chosen.writes ? NOW : document.updatedAt
    return { ...answer, shown: show(caller, { ...chosen.fields, _id, createdAt, createdBy, updatedAt }) }
  }
  return { judge, readersOf, writersOf, findGround, update }
}
