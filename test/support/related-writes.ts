import { expect } from 'vitest'
import fc from './fast-check.js'
import { NOW, viewsOf } from './oracle.js'
import {
  type Account,
  account,
  callerIn,
  type Difference,
  type Done,
  isReferenceRefusal,
  type WriteSource,
} from './write-laws.js'
import {
  operationOf,
  PEOPLE,
  type People,
  pairsOf,
  rarely,
  type Store,
  THINGS,
  thingSchemas,
  tidy,
  type WriteRequest,
  type WriteWorld,
  withRequests,
} from './write-worlds.js'

/**
 * Writes where references have to agree, and are taken away with their targets: what of it may tell two stores
 * apart, and what each write must have done.
 */

type Json = { readonly [name: string]: unknown }
type Name = 'things' | 'people'

/* Worlds */

const VALUES = ['a', 'b']
const judged: Json = { type: 'string', enum: VALUES }

/** A reference; it agrees on `t` here and `team` of a person, or `t` of a thing. */
const referenceTo = (collection: Name, onDelete: readonly string[]): fc.Arbitrary<Json> =>
  fc.tuple(fc.constantFrom(...onDelete), fc.boolean()).map(([onDelete, isMatched]) => ({
    type: 'reference',
    collection,
    onDelete,
    ...(isMatched ? { match: { t: collection === 'people' ? 'team' : 't' } } : {}),
  }))

const references = fc
  .record({
    r: fc
      .tuple(referenceTo('people', ['restrict', 'cascade', 'unset', 'unset']), rarely(fc.constant(true), 6))
      .map(([one, immutable]) => tidy({ ...one, immutable })),
    rs: referenceTo('people', ['unset']).map((items): Json => ({ type: 'array', items })),
    os: referenceTo('people', ['unset']).map(
      (r): Json => ({ type: 'array', items: { type: 'object', properties: { r } } }),
    ),
    next: referenceTo('things', ['restrict', 'unset']),
    h: referenceTo('people', ['restrict', 'unset']).map(
      (r): Json => ({ type: 'object', properties: { r, v: judged } }),
    ),
  })
  .chain((all) => fc.subarray(Object.entries(all), { minLength: 2 }))

const schema: fc.Arbitrary<Json> = fc.tuple(thingSchemas, references).map(([{ s, n, u }, some]) => ({
  ...tidy({ s, n, u }),
  ...Object.fromEntries(some),
  t: judged,
}))

const peopleOf = (isBlind: boolean): People => ({
  collection: {
    schema: { name: { type: 'string' }, team: judged },
    permissions: {
      user: {
        read: { where: { name: 'a' }, ...(isBlind ? { omit: ['team'] } : {}) },
        create: true,
        update: { check: {} },
        delete: true,
      },
    },
  },
  documents: fc
    .tuple(
      ...PEOPLE.map((_id) =>
        fc.record({
          _id: fc.constant(_id),
          name: fc.constantFrom('a', 'a', 'b'),
          goes: fc.option(fc.boolean()),
          teams: fc.tuple(fc.constantFrom(...VALUES), fc.constantFrom(...VALUES)),
        }),
      ),
    )
    .map((persons) => {
      const side = (i: 0 | 1): readonly Json[] =>
        persons.flatMap(({ _id, name, goes, teams }): Json[] => {
          const isHidden = name === 'b'
          if (isHidden && goes === (i === 1)) return []
          return [{ _id, name, team: teams[isHidden || isBlind ? i : 0], createdBy: null }]
        })
      return [side(0), side(1)]
    }),
})

/** Requests for what agrees: of either side. */
const operations = (world: Omit<WriteWorld, 'requests'>): fc.Arbitrary<WriteRequest> => {
  const { schema } = world.config.collections.things
  const person = fc.constantFrom(...PEOPLE)
  const optional = (one: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.option(one, { freq: 5 })
  const value = optional(fc.constantFrom(...VALUES))
  const fields: { readonly [name: string]: fc.Arbitrary<unknown> } = {
    t: value,
    r: optional(person),
    rs: fc.array(person, { maxLength: 2 }),
    os: fc.array(fc.record({ r: person }), { maxLength: 2 }),
    next: optional(fc.constantFrom(...THINGS)),
    h: optional(fc.record({ r: optional(person), v: value }, { requiredKeys: [] })),
  }
  const known = Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(schema, name)))
  const thing = fc
    .tuple(
      fc.constantFrom('PATCH', 'PATCH', 'PUT'),
      fc.constantFrom(...THINGS),
      fc.record(known, { requiredKeys: [] }),
    )
    .map(([method, id, body]) => ({ line: `${method} /things/${id}`, body: body as Json }))
  const change = fc
    .tuple(
      fc.constantFrom('PATCH', 'PATCH', 'PUT'),
      person,
      fc.record({ team: value, name: fc.constantFrom('a', 'a', 'a', 'b') }, { requiredKeys: ['name'] }),
    )
    .map(([method, id, body]) => ({ line: `${method} /people/${id}`, body }))
  return fc.oneof(
    { weight: 2, arbitrary: operationOf(world) },
    { weight: 4, arbitrary: thing },
    { weight: 2, arbitrary: change },
    {
      weight: 1,
      arbitrary: change.map(({ line, body }) => ({
        line: line.replace('PATCH', 'PUT'),
        body,
        headers: { 'if-none-match': '*' },
      })),
    },
    { weight: 1, arbitrary: person.map((id) => ({ line: `DELETE /people/${id}` })) },
    { weight: 1, arbitrary: fc.constantFrom(...THINGS).map((id) => ({ line: `DELETE /things/${id}` })) },
  )
}

const worlds: fc.Arbitrary<WriteWorld> = fc
  .boolean()
  .chain((isBlind) => pairsOf(schema, peopleOf(isBlind)))
  .map((world): typeof world => ({
    ...world,
    caller: { ...world.caller, roles: [...world.caller.roles, 'remover'] },
  }))
  .chain((world) => withRequests(world, operations))

/* What documents refer to */

interface Held {
  /** JSON pointer. */
  readonly path: string
  readonly id: unknown
  readonly definition: Json
}

/** The references of a document, wherever they lie. */
function heldBy(schema: Json, document: Json, at = ''): readonly Held[] {
  return Object.entries(schema).flatMap(([name, definition]) =>
    heldIn(definition as Json, document[name], `${at}/${name}`),
  )
}

function heldIn(definition: Json, value: unknown, path: string): readonly Held[] {
  if (definition.type === 'reference')
    return typeof value === 'string' ? [{ path, id: value, definition }] : []
  if (Array.isArray(value) && definition.items)
    return value.flatMap((one, i) => heldIn(definition.items as Json, one, `${path}/${i}`))
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && definition.properties ? heldBy(definition.properties as Json, value as Json, path) : []
}

const find = (store: Store, collection: unknown, id: unknown): Json | undefined =>
  store[String(collection)]?.find(({ _id }) => _id === id)

/** What the reference must find in its target. */
const thereOf = ({ match }: Json): string | undefined =>
  match === undefined ? undefined : String((match as Json).t)

/** A value as it is compared: of another type it counts as missing. */
const textAt = (document: Json | undefined, name: string): string | undefined => {
  const value = document?.[name]
  return typeof value === 'string' ? value : undefined
}

/** The references of all things to a document. */
const referrersOf = (schema: Json, { things }: Store, collection: Name, id: unknown) =>
  things.flatMap((thing) =>
    heldBy(schema, thing)
      .filter((held) => held.definition.collection === collection && held.id === id)
      .map((held) => ({ thing, ...held })),
  )

/** The parts of a line for one document. */
const parse = (line: string): { method: string; name: Name; id: string | undefined } => {
  const [, method = '', name = 'things', id] = /^(\w+) \/(\w+)(?:\/(.*))?$/.exec(line) ?? []
  return { method, name: name as Name, id }
}

/* What may differ */

/** what references compare when something is written, hidden or not. */
function toldBy({ config }: WriteWorld, { line, body = {} }: WriteRequest, store: Store): unknown {
  const { schema } = config.collections.things
  const { method, name, id } = parse(line)
  if (method === 'DELETE')
    return store.things.map((thing) => [thing._id, textAt(thing, 't'), heldBy(schema, thing)])
  const referrers = referrersOf(schema, store, name, id).map(({ thing, path }) => [thing._id, path, thing.t])
  const own = find(store, name, id)
  if (name === 'people') return [own?.team, referrers]
  const bodies = (body.documents as Json[] | undefined) ?? [body]
  // What is stored is judged anew only where its own side may change.
  const isJudgedAnew =
    method !== 'PATCH' || Object.hasOwn(body, 't') || JSON.stringify(config.collections).includes('"set"')
  const stored = own && isJudgedAnew ? own : {}
  const named = [stored, ...bodies].flatMap((one) => heldBy(schema, one))
  const targets = named.map(({ id, definition }) => {
    const target = find(store, definition.collection, id)
    return [id, target?.[thereOf(definition) ?? '']]
  })
  return [own?.t, heldBy(schema, stored), targets, referrers]
}

function accountForReferences(
  world: WriteWorld,
  request: WriteRequest,
  difference: Difference,
): Account | undefined {
  const { before, after, answers } = difference
  const { method, name, id } = parse(request.line)
  const isClaim = request.headers?.['if-none-match'] !== undefined
  const there = before.map((store) => find(store, name, id) !== undefined)
  if (isClaim && there[0] !== there[1]) return 'uniqueness'
  const known = name === 'people' ? undefined : account(world, request, difference)
  if (known) return known
  const [here, other] = before.map((store) => JSON.stringify(toldBy(world, request, store)))
  if (here === other) return undefined
  if (answers.some(isReferenceRefusal)) return 'references'
  // What went along is gone, and what led there is; what lost a reference is a new version. No more may tell.
  return method === 'DELETE' && showSame(world, after) ? 'references' : undefined
}

/** Whether what is left in both stores is shown alike, but for its times. */
function showSame(world: WriteWorld, after: Difference['after']): boolean {
  const isKept = (id: unknown): boolean => after.every((store) => find(store, 'things', id))
  const [shown = new Map(), shownThere = new Map()] = after.map((store) => showUntimed(world, store, isKept))
  const common = [...shown].filter(([place]) => shownThere.has(place))
  return common.every(([place, view]) => shownThere.get(place) === view)
}

/** In a batch references agree once all of it is done, so what none of its operations tells the whole may. */
function accountTogether(
  world: WriteWorld,
  { operations = [] }: WriteRequest,
  difference: Difference,
): Account | undefined {
  const { before, after, answers } = difference
  // An operation that references refuse when it is alone succeeds in a batch: a later one may then tell what it may alone.
  for (const { status, comparable } of answers) {
    const failed = status >= 400 ? operations[Number(problemOf(comparable).operation)] : undefined
    const why = failed && account(world, failed, difference)
    if (why !== undefined) return why
  }
  const claimed = operations.filter(({ headers }) => headers?.['if-none-match'] !== undefined)
  const isThere = (store: Store, { line }: WriteRequest): boolean =>
    find(store, parse(line).name, parse(line).id) !== undefined
  if (claimed.some((one) => isThere(before[0], one) !== isThere(before[1], one))) return 'uniqueness'
  const [here, there] = before.map(({ things, people }) => {
    const { schema } = world.config.collections.things
    const compared = things.map((thing) => [thing._id, textAt(thing, 't'), heldBy(schema, thing)])
    return JSON.stringify([compared, people.map(({ _id, team }) => [_id, team])])
  })
  if (here === there) return undefined
  if (answers.some(isReferenceRefusal)) return 'references'
  // What is deleted in it is told by the times of others, as by a delete alone.
  const isDelete = operations.some(({ line }) => line.startsWith('DELETE'))
  const [one, other] = answers.map(({ comparable }) =>
    comparable.replace(/"(?:updatedAt|etag)":"[^"]*"/g, ''),
  )
  return isDelete && one === other && showSame(world, after) ? 'references' : undefined
}

/** The views of all documents but for their times, and what leads to things that are gone, by place. */
function showUntimed(
  world: WriteWorld,
  store: Store,
  isKept: (id: unknown) => boolean,
): ReadonlyMap<string, string> {
  const caller = callerIn(world, store)
  return new Map(
    (['things', 'people'] as const).flatMap((name) =>
      viewsOf(world.config.collections[name], store[name], caller).map(({ updatedAt, ...view }) => {
        const left = Object.entries(view).filter(([field, id]) => field !== 'next' || isKept(id))
        const sorted = left.sort(([a], [b]) => (a < b ? -1 : 1))
        return [`${name} ${view._id}`, JSON.stringify(sorted)] as const
      }),
    ),
  )
}

/* What must have been done */

function judge(world: WriteWorld, request: WriteRequest, done: Done): void {
  const { answer } = done
  const { method } = parse(request.line)
  if (request.operations || request.line.endsWith('/bulk')) return
  const context = { request, before: done.before, answer: answer.comparable }
  if (method === 'DELETE') judgeDelete(world, request, done, context)
  else if (isReferenceRefusal(answer)) {
    judgeWords(world, request, answer)
    const unfounded = findUnfounded(world, request, done)
    expect({ ...context, unfounded }).toEqual({ ...context, unfounded: [] })
  } else if (answer.status < 300) {
    const broken = findBroken(world, request, done)
    expect({ ...context, broken }).toEqual({ ...context, broken: [] })
  }
}

/** What was said of references in a world, by the place that it was about. */
const said = new WeakMap<WriteWorld, Map<string, unknown>>()

/** A refusal says the same of a reference, whatever its target and its document hold. */
function judgeWords(world: WriteWorld, { line }: WriteRequest, { comparable }: Done['answer']): void {
  const known = said.get(world) ?? new Map<string, unknown>()
  said.set(world, known)
  const { code, detail, errors } = problemOf(comparable)
  const faults = (errors as readonly Json[] | undefined) ?? []
  const words = faults.length === 0 ? [[`${code} ${parse(line).name}`, detail]] : []
  for (const fault of faults.filter((fault) => fault.code === 'unknown_reference')) {
    const [, name, ...inside] = String(fault.path).split('/')
    words.push([`${fault.code} ${inside.length > 0 ? 'in ' : ''}${name}`, fault.message])
  }
  for (const [place, text] of words) {
    const before = known.get(String(place)) ?? text
    known.set(String(place), before)
    expect({ line, text }).toEqual({ line, text: before })
  }
}

/** The references that a write should have kept from being as they are. */
function findBroken(
  { config }: WriteWorld,
  { line }: WriteRequest,
  { before, after }: Done,
): readonly unknown[] {
  const { schema } = config.collections.things
  const { name } = parse(line)
  const agree = (thing: Json, { definition, id }: Held): boolean => {
    const there = thereOf(definition)
    const target = find(after, definition.collection, id)
    const own = textAt(thing, 't')
    return there === undefined || (own !== undefined && textAt(target, there) === own)
  }
  const written = after[name]?.filter((one) => find(before, name, one._id)?._version !== one._version) ?? []
  return written.flatMap((one) => {
    const old = find(before, name, one._id)
    const key = name === 'people' ? 'team' : 't'
    const isMoved = textAt(old, key) !== textAt(one, key)
    const referrers = isMoved ? referrersOf(schema, after, name, one._id) : []
    const wrong = referrers.filter(({ thing, ...held }) => !agree(thing, held)).map(({ path }) => path)
    if (name === 'people') return wrong
    const known = heldBy(schema, old ?? {})
    const renewed = heldBy(schema, one).filter(
      ({ id, definition }) =>
        isMoved || known.every((held) => held.id !== id || held.definition !== definition),
    )
    return [...wrong, ...renewed.filter((held) => !agree(one, held)).map(({ path }) => path)]
  })
}

/** The faults of references that nothing in the store or the body accounts for. */
function findUnfounded(
  world: WriteWorld,
  { line, body = {} }: WriteRequest,
  { before, answer }: Done,
): readonly unknown[] {
  const { collections } = world.config
  const { schema } = collections.things
  const { method, name, id } = parse(line)
  const own = find(before, name, id)
  const key = name === 'people' ? 'team' : 't'
  // What it may become: a rule may drop what the body says, and a PUT removes what it does not name.
  const values = [
    ...(Object.hasOwn(body, key) ? [textAt(body, key)] : []),
    ...(method === 'PATCH' || own ? [textAt(own, key)] : []),
    ...(method === 'PATCH' ? [] : [undefined]),
  ]
  if (answer.code === 'reference_in_use') {
    const referrers = referrersOf(schema, before, name, id).filter(({ definition }) => thereOf(definition))
    return referrers.some(({ thing }) =>
      values.some((value) => value === undefined || value !== textAt(thing, 't')),
    )
      ? []
      : [line]
  }
  const caller = callerIn(world, before)
  const isReadable = (collection: Name, target: Json): boolean =>
    viewsOf(collections[collection], [target], caller).length > 0
  const isWrong = ({ id: to, definition }: Held): boolean => {
    const [collection, there] = [definition.collection as Name, thereOf(definition)]
    const target = find(before, collection, to)
    if (!target || !isReadable(collection, target)) return to !== id || !own
    if (there === undefined) return false
    return values.some((value) => value === undefined || (to !== id && textAt(target, there) !== value))
  }
  const candidates = [body, own ?? {}].flatMap((one) => heldBy(schema, one))
  // Of what is hidden, the whole property is named.
  const isAbout = (path: string, held: { readonly path: string }): boolean =>
    held.path === path || held.path.startsWith(`${path}/`)
  return pathsOf(answer).filter((path) => !candidates.some((held) => isAbout(path, held) && isWrong(held)))
}

/** The paths of the faults of references. */
const pathsOf = ({ comparable }: Done['answer']): readonly string[] => {
  const faults = (problemOf(comparable).errors as readonly Json[] | undefined) ?? []
  return faults.filter(({ code }) => code === 'unknown_reference').map(({ path }) => String(path))
}

/** The problem of an answer, as it is compared. */
const problemOf = (comparable: string): Json => {
  const problem: string | Json = JSON.parse(comparable)[2]
  return typeof problem === 'string' ? JSON.parse(problem.replace(/,(?=[,}])|(?<=\{),/g, '')) : problem
}

function judgeDelete(
  { config }: WriteWorld,
  { line }: WriteRequest,
  { before, after, answer }: Done,
  context: Json,
): void {
  const { schema } = config.collections.things
  const { name, id } = parse(line)
  if (answer.status !== 204 && answer.code !== 'reference_in_use') return
  const doomed = new Set([`${name} ${id}`])
  const isDoomed = ({ id, definition }: Held): boolean => doomed.has(`${definition.collection} ${id}`)
  for (let size = 0; size < doomed.size; ) {
    size = doomed.size
    for (const thing of before.things)
      if (heldBy(schema, thing).some((held) => held.definition.onDelete === 'cascade' && isDoomed(held)))
        doomed.add(`things ${thing._id}`)
  }
  const left = before.things.filter(({ _id }) => !doomed.has(`things ${_id}`))
  const isHeld = left.some((thing) =>
    heldBy(schema, thing).some((held) => held.definition.onDelete === 'restrict' && isDoomed(held)),
  )
  expect({ ...context, isHeld }).toEqual({ ...context, isHeld: answer.status === 409 })
  const things = isHeld ? before.things : left.map((thing) => without(schema, thing, isDoomed))
  expect({ ...context, things: byId(after.things) }).toEqual({ ...context, things: byId(things) })
}

const byId = (documents: readonly Json[]): Json =>
  Object.fromEntries(documents.map((one) => [String(one._id), one]))

/** A thing without what it refers to no longer: a new version, if that is less. */
function without(schema: Json, thing: Json, isGone: (held: Held) => boolean): Json {
  const strip = (definition: Json, value: unknown): unknown => {
    if (definition.type === 'reference') return heldIn(definition, value, '').some(isGone) ? undefined : value
    if (Array.isArray(value) && definition.items)
      return value.map((one) => strip(definition.items as Json, one)).filter((one) => one !== undefined)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && definition.properties ? stripAll(definition.properties as Json, value as Json) : value
  }
  const stripAll = (fields: Json, values: Json): Json =>
    tidy(
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => {
          const definition = Object.hasOwn(fields, name) ? (fields[name] as Json) : undefined
          return [name, definition ? strip(definition, value) : value]
        }),
      ),
    )
  if (!heldBy(schema, thing).some(isGone)) return thing
  return { ...stripAll(schema, thing), _version: Number(thing._version) + 1, updatedAt: NOW }
}

/** Writes of documents whose references agree, and are unset. */
export const RELATED_WRITES: WriteSource = { worlds, account: accountForReferences, accountTogether, judge }
