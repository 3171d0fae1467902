import { expect } from 'vitest'
import { issueSession } from '../../src/core/accounts/auth/sessions.js'
import { isId } from '../../src/core/filter/filter.js'
import {
  type createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
  type StoredDocument,
  type WriteStep,
} from '../../src/index.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { CLAIMS, CLAIMS_OVER, MEMBERSHIPS, withTeams } from './claim-worlds.js'
import { type OpenStream, readStream, told, watchLog } from './event-streams.js'
import { inPages } from './log-pages.js'
import { expectList, NOW, type OracleCaller, type OracleQuery } from './oracle.js'
import { createTestService } from './service.js'
import { idOf } from './stored.js'
import { seedOf } from './tier.js'
import { writeQuery } from './worlds.js'

type Json = { readonly [name: string]: unknown }

/** A configuration, and somebody who watches a list. */
export interface World {
  readonly permissions: Json
  /** Whether the claim asks for a field of the watcher that no rule uses. */
  readonly isByUnit: boolean
  /** Whether the claim asks for the values of another claim that no rule uses. */
  readonly isOver: boolean
  readonly query: OracleQuery
  readonly isAnonymous: boolean
}

/** A part of a write. */
type Step =
  | { readonly put: Json & { readonly _id: string } }
  | { readonly drop: string }
  | { readonly user: Json }
  | { readonly join: Json & { readonly _id: string } }
  | { readonly quit: string }

/** All steps of a write take effect together. */
type Write = readonly Step[]

/** What is stored; users' fields are those of the one who watches. */
interface State {
  readonly things: ReadonlyMap<string, Json>
  readonly members: ReadonlyMap<string, Json>
  readonly user: Json
}

const SCHEMA: Json = {
  a: { type: 'string' },
  n: { type: 'integer' },
  team: { type: 'string' },
  h: { type: 'string' },
}
const IDS = [1, 2, 3, 4, 5].map(idOf)
const MEMBERS = [801, 802, 803].map(idOf)
const TEXTS = ['x', 'y', 'z'] as const
const UNITS = ['x', 'y'] as const
const WATCHER = idOf(900)

/* Worlds */

function drawRule(random: Random): Json {
  const names = ['a', 'n', 'team', 'h', 'createdBy', 'updatedAt']
  const shown = random.pick<Json>([
    {},
    { omit: ['h'] },
    { omit: random.sample(names, 3) },
    { pick: random.sample(names, 3) },
    { pick: random.sample(names, 2) },
  ])
  const where = random.pick<Json>([
    {},
    { where: { a: random.pick(TEXTS) } },
    { where: { n: { $gte: 1 } } },
    { where: { h: random.pick(TEXTS) } },
    { where: { team: '$user.team' } },
    { where: { a: '$user.team', n: { $lt: 2 } } },
    { where: { team: { $in: '$user.teams' } } },
    { where: { team: { $in: '$user.teams' } } },
    { where: { a: { $nin: '$user.teams' } } },
  ])
  return { ...shown, ...where }
}

const drawGrant = (random: Random): Json => ({
  read: random.chance(0.3) ? [drawRule(random), drawRule(random)] : drawRule(random),
})

function drawWorld(random: Random): World {
  // Now and then a list is there for a role alone.
  const subjects = random.chance(0.1)
    ? ['editor']
    : ['*', 'user', 'owner', 'editor'].filter(() => random.chance(0.6))
  const permissions = Object.fromEntries(subjects.map((subject) => [subject, drawGrant(random)]))
  const condition = random.pick([
    { path: 'a', operator: '$eq', values: [random.pick(TEXTS)] },
    { path: 'n', operator: '$gte', values: [random.integer(0, 2)] },
    { path: 'team', operator: '$ne', values: [random.pick(TEXTS)] },
    { path: 'h', operator: '$eq', values: [random.pick(TEXTS)] },
    { path: 'h', operator: '$ne', values: [random.pick(TEXTS)] },
  ])
  const query: OracleQuery = {
    conditions: random.chance(0.7) ? [condition] : [],
    sort: [],
    ...(random.chance(0.3) ? { project: random.sample(['a', 'n', 'team'], 2) } : {}),
  }
  return {
    permissions,
    isByUnit: random.chance(0.5),
    isOver: random.chance(0.4),
    query,
    isAnonymous: random.chance(0.1),
  }
}

/* Histories */

const START: State = { things: new Map(), members: new Map(), user: { role: 'editor', team: 'x', unit: 'x' } }

function apply({ things, members, user }: State, write: Write): State {
  const [next, joined] = [new Map(things), new Map(members)]
  let present = user
  for (const step of write) {
    if ('put' in step) next.set(step.put._id, step.put)
    else if ('drop' in step) next.delete(step.drop)
    else if ('join' in step) joined.set(step.join._id, step.join)
    else if ('quit' in step) joined.delete(step.quit)
    else present = { ...present, ...step.user }
  }
  return { things: next, members: joined, user: present }
}

function drawThing(random: Random, _id: string): Json & { readonly _id: string } {
  const maybe = (name: string, value: unknown): Json => (random.chance(0.8) ? { [name]: value } : {})
  return {
    _id,
    ...maybe('a', random.pick(TEXTS)),
    ...maybe('n', random.integer(0, 2)),
    ...maybe('team', random.pick(TEXTS)),
    ...maybe('h', random.pick(TEXTS)),
    createdBy: random.chance(0.3) ? WATCHER : idOf(901),
  }
}

function drawMember(random: Random, _id: string): Json & { readonly _id: string } {
  return {
    _id,
    user: random.pick([WATCHER, WATCHER, idOf(901)]),
    ...(random.chance(0.9) ? { team: random.pick(TEXTS) } : {}),
    unit: random.pick(UNITS),
    isOver: random.chance(0.2),
  }
}

function drawStep(random: Random, { things, members }: State): Step {
  if (random.chance(0.2)) {
    const _id = random.pick(MEMBERS)
    return members.has(_id) && random.chance(0.5) ? { quit: _id } : { join: drawMember(random, _id) }
  }
  if (random.chance(0.2)) {
    return {
      user: random.pick<Json>([
        { role: random.pick(['editor', 'guest']) },
        { team: random.pick(TEXTS) },
        { unit: random.pick(UNITS) },
        { unit: random.pick(UNITS) },
        { note: random.pick(TEXTS) },
      ]),
    }
  }
  const _id = random.pick(IDS)
  if (things.has(_id) && random.chance(0.25)) return { drop: _id }
  const { [random.pick(['a', 'n', 'team', 'h'])]: _, ...rest } = things.get(_id) ?? {}
  // Mostly one field changes; a document that was gone comes back with another creator perhaps.
  return { put: { ...drawThing(random, _id), ...rest, _id } }
}

function drawWrite(random: Random, state: State): Write {
  const swap = random.chance(0.1) ? drawSwap(random, state) : []
  if (swap.length > 0) return swap
  const count = random.chance(0.2) ? random.integer(2, 3) : 1
  return Array.from({ length: count }, () => drawStep(random, state)).filter(
    (step, i, all) => all.findIndex((other) => placeOf(other) === placeOf(step)) === i,
  )
}

/** One membership goes, and another one like it comes. */
function drawSwap(random: Random, { members }: State): Write {
  const free = MEMBERS.filter((id) => !members.has(id))
  if (members.size === 0 || free.length === 0) return []
  const [quit, member] = random.pick([...members])
  return [{ quit }, { join: { ...member, _id: random.pick(free) } }]
}

function placeOf(step: Step): string {
  if ('put' in step) return step.put._id
  if ('join' in step) return step.join._id
  return 'drop' in step ? step.drop : 'quit' in step ? step.quit : WATCHER
}

/* What the watcher could know */

interface Known {
  readonly list: ReturnType<typeof expectList>
  readonly standing: string
  /** Both as one text. */
  readonly text: string
}

const callerOf = ({ isAnonymous, isByUnit, isOver }: World, { user, members }: State): OracleCaller | null =>
  isAnonymous
    ? null
    : withTeams(
        { id: WATCHER, _id: WATCHER, roles: [String(user.role)], ...user },
        [...members.values()].filter(({ unit }) => isOver || !isByUnit || unit === user.unit),
        isOver ? CLAIMS_OVER : CLAIMS,
      )

function know(world: World, state: State): Known {
  const caller = callerOf(world, state)
  const subjects = Object.keys(world.permissions).filter(
    (subject) =>
      subject === '*' || (caller && (['user', 'owner'].includes(subject) || caller.roles.includes(subject))),
  )
  const uses = (variable: string): boolean =>
    subjects.some((subject) => JSON.stringify(world.permissions[subject]).includes(`"${variable}"`))
  const teams = [caller?.teams ?? []].flat().sort()
  const documents = Array.from(state.things.values(), (thing) => ({
    createdAt: NOW,
    updatedAt: NOW,
    ...thing,
  }))
  const list = expectList({ schema: SCHEMA, permissions: world.permissions }, documents, caller, world.query)
  const standing = JSON.stringify([
    subjects,
    uses('$user.team') && caller ? state.user.team : null,
    uses('$user.teams') ? teams : null,
  ])
  return { list, standing, text: JSON.stringify([list, standing]) }
}

const isSame = (a: Known, b: Known): boolean => a.text === b.text

/** Which of the steps of a sequence come together with the one before. */
type Together = readonly boolean[]

/** The events that a sequence of lists and standings has to give; of what comes together, a reset has all. */
function expectEvents(
  sequence: readonly Known[],
  together: Together,
): readonly (readonly [string, unknown])[] {
  const events: (readonly [string, unknown])[] = [['reset', {}]]
  for (let first = 1; first < sequence.length; ) {
    let last = first
    while (together[last + 1] && last + 1 < sequence.length) last += 1
    const [start, ...steps] = sequence.slice(first - 1, last + 1)
    first = last + 1
    if (typeof steps.at(-1)?.list === 'number') return [...events, ['end', {}]]
    if (steps.some(({ standing }) => standing !== start?.standing)) events.push(['reset', {}])
    else
      for (const [i, { list }] of steps.entries())
        events.push(...compareLists(i > 0 ? steps[i - 1]?.list : start?.list, list))
  }
  return events
}

/** The writes of a history, those together that come together. */
function group(world: World, history: readonly Write[], together: Together): readonly (readonly Write[])[] {
  const groups: Write[][] = [[]]
  let known = know(world, START)
  let step = 0
  for (let [i, state] = [0, START]; i < history.length; i++) {
    const write = history[i] ?? []
    state = apply(state, write)
    const next = know(world, state)
    if (!isSame(next, known) && !together[++step]) groups.push([])
    known = next
    groups.at(-1)?.push(write)
  }
  return groups
}

/** How often the query of a claim may change within the changes that are read together (CONTRACT.md §9, "Standing"). */
const MOST_QUERIES = 7

/** What the query of the claim depends on, besides the `_id` of the watcher. */
const queryOf = ({ isByUnit, isOver }: World, { user, members }: State): unknown =>
  isOver
    ? MEMBERS.flatMap((id) => (members.get(id)?.user === WATCHER ? String(members.get(id)?.unit) : []))
    : isByUnit && user.unit

/** Whether a claim is asked for more often than that in a group, so that the stream gets a `reset`. */
function isAskedTooOften(world: World, groups: readonly (readonly Write[])[]): boolean {
  let state = START
  return groups.some((writes) => {
    let changes = 0
    for (const write of writes) {
      const next = apply(state, write)
      if (JSON.stringify(queryOf(world, next)) !== JSON.stringify(queryOf(world, state))) changes += 1
      state = next
    }
    return changes > MOST_QUERIES
  })
}

function compareLists(
  before: Known['list'] | undefined,
  after: Known['list'],
): (readonly [string, unknown])[] {
  if (typeof before !== 'object' || typeof after === 'number') return []
  const ids = [...new Set([...before, ...after].map(({ _id }) => String(_id)))].sort()
  return ids.flatMap((_id): (readonly [string, unknown])[] => {
    const [old, young] = [before, after].map((list) => list.find((view) => view._id === _id))
    if (JSON.stringify(sorted(old)) === JSON.stringify(sorted(young))) return []
    if (!young) return [['leave', { _id }]]
    return [[old ? 'change' : 'enter', young]]
  })
}

const sorted = (view: Json | undefined): unknown =>
  view && Object.entries(view).sort(([a], [b]) => (a < b ? -1 : 1))

/** Another history that the watcher cannot tell from the first: beside and in place of its writes, others. */
function disguise(random: Random, world: World, history: readonly Write[]): readonly Write[] {
  const other: Write[] = []
  let [here, there] = [START, START]
  // What is known of either: always the same.
  let known = know(world, START)
  const addSilent = (): void => {
    const silent = drawWrite(random, there)
    const next = apply(there, silent)
    if (!isSame(know(world, next), known)) return
    other.push(silent)
    there = next
  }
  for (const write of history) {
    while (random.chance(0.3)) addSilent()
    here = apply(here, write)
    const wanted = know(world, here)
    // If it changed nothing that can be known, here it is left out, or another one.
    if (isSame(wanted, known)) continue
    const tries = Array.from({ length: 6 }, () => [
      ...drawWrite(random, there),
      ...(random.chance(0.5) ? write : []),
    ])
    const fitting = [...tries, write].find(
      (some) =>
        new Set(some.map(placeOf)).size === some.length && isSame(know(world, apply(there, some)), wanted),
    )
    const chosen = fitting ?? moveTo(there, here)
    other.push(chosen)
    there = apply(there, chosen)
    known = wanted
  }
  return other
}

/** The write that makes one state of another. */
const moveTo = (from: State, to: State): Write => [
  ...[...from.things.keys()].filter((id) => !to.things.has(id)).map((drop) => ({ drop })),
  ...Array.from(to.things.values(), (put) => ({ put: put as Json & { readonly _id: string } })),
  ...[...from.members.keys()].filter((id) => !to.members.has(id)).map((quit) => ({ quit })),
  ...Array.from(to.members.values(), (join) => ({ join: join as Json & { readonly _id: string } })),
  { user: to.user },
]

/* Playing */

/** What is built: the library, or a mutant of it, over which storage. */
export interface Building {
  readonly create?: typeof createCollectionService
  readonly createAdapter?: () => StorageAdapter
}

/** A service over a world, in which one history is played after the other. */
interface Stage {
  /** What a stream tells while a history is written, in groups that come together; it begins with an empty list. */
  play(history: readonly (readonly Write[])[]): Promise<OpenStream>
  close(): Promise<void>
}

const USERS: Json = {
  schema: {
    name: { type: 'string', unique: true },
    pin: { type: 'hash' },
    role: { type: 'string' },
    team: { type: 'string' },
    unit: { type: 'string' },
    note: { type: 'string' },
  },
}

const { teams } = CLAIMS as { readonly teams: { readonly where: Json } }
/** The same claim, of the memberships in the watcher's unit. */
const BY_UNIT: Json = { teams: { ...teams, where: { ...teams.where, unit: '$user.unit' } } }

/** The most changes that a page of the log has: what comes together may be on several. */
const PAGES = [500, 1, 2, 3]

async function openStage(
  { permissions, isByUnit, isOver, query, isAnonymous }: World,
  most: number,
  { create, createAdapter = createMemoryAdapter }: Building,
): Promise<Stage> {
  const { adapter, begin, quiet, hold } = watchLog(inPages(createAdapter(), most))
  const { handler } = createTestService(
    {
      collections: {
        things: { changes: true, schema: SCHEMA, permissions },
        memberships: { schema: MEMBERSHIPS },
        users: USERS,
      },
      auth: { roleField: 'role', claims: isOver ? CLAIMS_OVER : isByUnit ? BY_UNIT : CLAIMS },
    },
    { adapter, now: () => Date.parse(NOW), ...(create ? { create } : {}) },
  )
  await handler.ready()
  const write = async (steps: readonly WriteStep[]): Promise<void> => {
    // No history has the same writers as another.
    const { ok } = await adapter.write(steps, { by: crypto.randomUUID() })
    if (!ok) throw new Error('a write was refused')
  }
  const { issued, step } = issueSession(WATCHER, '', Date.parse(NOW), 1000)
  const authorization = `Bearer ${issued.token}`
  let user: StoredDocument = { ...START.user, name: 'ann', _id: WATCHER, _version: 1 }
  await write([step, { in: 'users', insert: user }])
  const versions = new Map<string, number>()
  const toStep = (one: Step): WriteStep => {
    if ('user' in one) {
      const version = user._version
      user = { ...user, ...one.user, _version: version + 1 }
      return { in: 'users', replace: user, version }
    }
    const id = placeOf(one)
    const name = 'put' in one || 'drop' in one ? 'things' : 'memberships'
    const version = versions.get(id)
    if ('drop' in one || 'quit' in one) {
      versions.delete(id)
      return { in: name, remove: isId(id) }
    }
    const _version = (version ?? 0) + 1
    versions.set(id, _version)
    const fields = 'put' in one ? one.put : one.join
    const document = { createdAt: NOW, updatedAt: NOW, ...fields, _version } as StoredDocument
    return version === undefined ? { in: name, insert: document } : { in: name, replace: document, version }
  }
  return {
    async play(history) {
      const drops = Array.from(versions.keys(), (id) => (MEMBERS.includes(id) ? { quit: id } : { drop: id }))
      await write([...drops, { user: START.user }].map(toStep))
      const stream = readStream(
        await handler(
          new Request(`http://service.test/things/changes?${writeQuery(query)}`, {
            headers: isAnonymous ? {} : { authorization },
          }),
        ),
      )
      await stream.until(1)
      await begin()
      for (const together of history) {
        const release = hold()
        for (const one of together) await write(one.map(toStep))
        await release()
        // Where nobody listens any more, nobody reads the log.
        await Promise.race([quiet(), stream.ended])
      }
      // What is on its way arrives before the stream is left.
      await new Promise((resolve) => setImmediate(resolve))
      await stream.close()
      return stream
    },
    close: () => handler.close(),
  }
}

/** Ids of one length of which nothing repeats but where they come from. */
function checkIds(stream: OpenStream): void {
  const ids = stream.events.flatMap(({ id }) => id ?? [])
  expect(new Set(ids.map(({ length }) => length)).size).toBeLessThan(2)
  // Behind what says under which key they are sealed, they are as alike as chance makes them.
  const alike = ids.slice(1).map((id, i) => countAlike(id.slice(-500), (ids[i] ?? '').slice(-500)))
  expect(Math.max(0, ...alike)).toBeLessThan(50)
}

function countAlike(mine: string, other: string): number {
  let count = 0
  for (let i = 0; i < mine.length; i++) if (mine[i] === other[i]) count += 1
  return count
}

/** The pairs of histories that are played. */
interface Histories {
  readonly pairs: number
  readonly writes: number
  /** The seed of the first pair. */
  readonly first?: number
  /** Whether the histories of a world are played. Default: those of each. */
  readonly isWanted?: (world: World) => boolean
}

/** How many pairs were different, and what was told in them. */
export interface Seen {
  different: number
  events: { [name: string]: number }
}

/**
 * No leak (CONTRACT.md §9, "Hidden changes"): two histories that show a caller the same lists and standings, one after
 * the other, give that caller the same events, which are those that follow from the lists alone. Throws on a
 * counterexample.
 */
export async function checkHistories(
  { pairs, writes, first = 1, isWanted = () => true }: Histories,
  building: Building = {},
): Promise<Seen> {
  const seen: Seen = { different: 0, events: {} }
  for (let seed = first, done = 0; done < pairs; seed++) {
    const random = createRandom(seedOf(seed))
    const world = drawWorld(random)
    // A list that is refused has no stream.
    if (typeof know(world, START).list === 'number' || !isWanted(world)) continue
    done += 1
    const history: Write[] = []
    const sequence = [know(world, START)]
    for (let [i, state, former] = [0, START, START]; i < writes; i++) {
      // Now and then what was just done is taken back.
      const write = random.chance(0.15) ? moveTo(state, former) : drawWrite(random, state)
      former = state
      state = apply(state, write)
      history.push(write)
      const known = know(world, state)
      if (!isSame(known, sequence.at(-1) ?? known)) sequence.push(known)
    }
    const other = disguise(random, world, history)
    if (JSON.stringify(other) !== JSON.stringify(history)) seen.different += 1
    const together = sequence.map(() => random.chance(0.4))
    const expected = expectEvents(sequence, together)
    const groups = [history, other].map((one) => group(world, one, together))
    if (groups.some((one) => isAskedTooOften(world, one))) continue
    const stage = await openStage(world, PAGES[seed % PAGES.length] ?? 500, building)
    for (const writes of groups) {
      const stream = await stage.play(writes)
      checkIds(stream)
      expect(told(stream.events), `seed ${seed}`).toEqual(expected)
    }
    await stage.close()
    for (const [name] of expected) seen.events[name] = (seen.events[name] ?? 0) + 1
  }
  return seen
}
