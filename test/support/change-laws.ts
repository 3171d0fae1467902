import { expect } from 'vitest'
import { issueSession } from '../../src/auth/sessions.js'
import { isId } from '../../src/filter/filter.js'
import {
  type createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
  type StoredDocument,
  type WriteStep,
} from '../../src/index.js'
import { createRandom, type Random } from '../../src/testing/adapter/fuzz/random.js'
import { type OpenStream, readStream, told, watchLog } from './event-streams.js'
import { expectList, NOW, type OracleCaller, type OracleQuery } from './oracle.js'
import { createTestService } from './service.js'
import { idOf } from './stored.js'
import { writeQuery } from './worlds.js'

type Json = { readonly [name: string]: unknown }

/** A configuration, and somebody who watches a list. */
interface World {
  readonly permissions: Json
  readonly query: OracleQuery
  readonly isAnonymous: boolean
}

/** A part of a write. */
type Step =
  | { readonly put: Json & { readonly _id: string } }
  | { readonly drop: string }
  | { readonly user: Json }

/** All steps of a write take effect together. */
type Write = readonly Step[]

/** What is stored; users' fields are those of the one who watches. */
interface State {
  readonly things: ReadonlyMap<string, Json>
  readonly user: Json
}

const SCHEMA: Json = {
  a: { type: 'string' },
  n: { type: 'integer' },
  team: { type: 'string' },
  h: { type: 'string' },
}
const IDS = [1, 2, 3, 4, 5].map(idOf)
const TEXTS = ['x', 'y', 'z'] as const
const WATCHER = idOf(900)

/* Worlds */

function drawRule(random: Random): unknown {
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
  ])
  return { read: { ...shown, ...where } }
}

function drawWorld(random: Random): World {
  // Now and then a list is there for a role alone.
  const subjects = random.chance(0.1)
    ? ['editor']
    : ['*', 'user', 'owner', 'editor'].filter(() => random.chance(0.6))
  const permissions = Object.fromEntries(subjects.map((subject) => [subject, drawRule(random)]))
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
  return { permissions, query, isAnonymous: random.chance(0.1) }
}

/* Histories */

const START: State = { things: new Map(), user: { role: 'editor', team: 'x' } }

function apply({ things, user }: State, write: Write): State {
  const next = new Map(things)
  let present = user
  for (const step of write) {
    if ('put' in step) next.set(step.put._id, step.put)
    else if ('drop' in step) next.delete(step.drop)
    else present = { ...present, ...step.user }
  }
  return { things: next, user: present }
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

function drawStep(random: Random, { things }: State): Step {
  if (random.chance(0.12)) {
    return {
      user: random.pick<Json>([
        { role: random.pick(['editor', 'guest']) },
        { team: random.pick(TEXTS) },
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

const drawWrite = (random: Random, state: State): Write =>
  Array.from({ length: random.chance(0.2) ? random.integer(2, 3) : 1 }, () => drawStep(random, state)).filter(
    (step, i, all) => all.findIndex((other) => placeOf(other) === placeOf(step)) === i,
  )

const placeOf = (step: Step): string => ('put' in step ? step.put._id : 'drop' in step ? step.drop : WATCHER)

/* What the watcher could know */

interface Known {
  readonly list: ReturnType<typeof expectList>
  readonly standing: string
}

const callerOf = ({ isAnonymous }: World, { user }: State): OracleCaller | null =>
  isAnonymous ? null : { id: WATCHER, _id: WATCHER, roles: [String(user.role)], ...user }

function know(world: World, state: State): Known {
  const caller = callerOf(world, state)
  const subjects = Object.keys(world.permissions).filter(
    (subject) =>
      subject === '*' || (caller && (['user', 'owner'].includes(subject) || caller.roles.includes(subject))),
  )
  const usesTeam = subjects.some((subject) =>
    JSON.stringify(world.permissions[subject]).includes('$user.team'),
  )
  const documents = Array.from(state.things.values(), (thing) => ({
    createdAt: NOW,
    updatedAt: NOW,
    ...thing,
  }))
  return {
    list: expectList({ schema: SCHEMA, permissions: world.permissions }, documents, caller, world.query),
    standing: JSON.stringify([subjects, usesTeam && caller ? state.user.team : null]),
  }
}

const isSame = (a: Known, b: Known): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The events that a sequence of lists and standings has to give. */
function expectEvents(sequence: readonly Known[]): readonly (readonly [string, unknown])[] {
  const events: (readonly [string, unknown])[] = [['reset', {}]]
  for (const [i, { list, standing }] of sequence.entries()) {
    const before = sequence[i - 1]
    if (!before) continue
    if (typeof list === 'number') return [...events, ['end', {}]]
    if (standing !== before.standing) events.push(['reset', {}])
    else if (typeof before.list !== 'number') events.push(...compareLists(before.list, list))
  }
  return events
}

function compareLists(before: readonly Json[], after: readonly Json[]): (readonly [string, unknown])[] {
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
  const addSilent = (): void => {
    const silent = drawWrite(random, there)
    const next = apply(there, silent)
    if (!isSame(know(world, next), know(world, there))) return
    other.push(silent)
    there = next
  }
  for (const write of history) {
    while (random.chance(0.3)) addSilent()
    const next = apply(here, write)
    const wanted = know(world, next)
    if (isSame(wanted, know(world, here))) {
      // It changed nothing that can be known: here it is left out, or another one.
      here = next
      continue
    }
    const tries = Array.from({ length: 6 }, () => [
      ...drawWrite(random, there),
      ...(random.chance(0.5) ? write : []),
    ])
    const fitting = [...tries, write].find(
      (some) =>
        new Set(some.map(placeOf)).size === some.length && isSame(know(world, apply(there, some)), wanted),
    )
    const chosen = fitting ?? moveTo(there, next)
    other.push(chosen)
    there = apply(there, chosen)
    here = next
  }
  return other
}

/** The write that makes one state of another. */
const moveTo = (from: State, to: State): Write => [
  ...[...from.things.keys()].filter((id) => !to.things.has(id)).map((drop) => ({ drop })),
  ...Array.from(to.things.values(), (put) => ({ put: put as Json & { readonly _id: string } })),
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
  /** What a stream tells while a history is written; it begins with an empty list. */
  play(history: readonly Write[]): Promise<OpenStream>
  close(): Promise<void>
}

const USERS: Json = {
  schema: {
    name: { type: 'string', unique: true },
    pin: { type: 'hash' },
    role: { type: 'string' },
    team: { type: 'string' },
    note: { type: 'string' },
  },
}

async function openStage(
  { permissions, query, isAnonymous }: World,
  { create, createAdapter = createMemoryAdapter }: Building,
): Promise<Stage> {
  const { adapter, begin, quiet } = watchLog(createAdapter())
  const { handler } = createTestService(
    {
      collections: { things: { changes: true, schema: SCHEMA, permissions }, users: USERS },
      auth: { roleField: 'role' },
    },
    { adapter, now: () => Date.parse(NOW), ...(create ? { create } : {}) },
  )
  await handler.ready()
  const write = async (steps: readonly WriteStep[]): Promise<void> => {
    expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
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
    const version = versions.get(id)
    if ('drop' in one) {
      versions.delete(id)
      return { in: 'things', remove: isId(id) }
    }
    const _version = (version ?? 0) + 1
    versions.set(id, _version)
    const document = { createdAt: NOW, updatedAt: NOW, ...one.put, _version } as StoredDocument
    return version === undefined
      ? { in: 'things', insert: document }
      : { in: 'things', replace: document, version }
  }
  return {
    async play(history) {
      const drops = Array.from(versions.keys(), (drop) => ({ drop }))
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
      for (const one of history) {
        await write(one.map(toStep))
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
  for (const [i, id] of ids.entries()) {
    const [mine, next] = [id.slice(-500), (ids[i + 1] ?? '').slice(-500)]
    expect([...mine].filter((character, at) => character === next[at]).length).toBeLessThan(50)
  }
}

/** How many pairs were different, and what was told in them. */
export interface Seen {
  different: number
  events: { [name: string]: number }
}

/**
 * No leak (CONTRACT.md §9, "What events tell"): two histories that show a caller the same lists and standings, one after the
 * other, give that caller the same events, which are those that follow from the lists alone. Throws on a
 * counterexample.
 */
export async function checkHistories(
  { pairs, writes, first = 1 }: { readonly pairs: number; readonly writes: number; readonly first?: number },
  building: Building = {},
): Promise<Seen> {
  const seen: Seen = { different: 0, events: {} }
  for (let seed = first, done = 0; done < pairs; seed++) {
    const random = createRandom(seed)
    const world = drawWorld(random)
    // A list that is refused has no stream.
    if (typeof know(world, START).list === 'number') continue
    done += 1
    const history: Write[] = []
    const sequence = [know(world, START)]
    for (let i = 0, state = START; i < writes; i++) {
      const write = drawWrite(random, state)
      state = apply(state, write)
      history.push(write)
      const known = know(world, state)
      if (!isSame(known, sequence.at(-1) ?? known)) sequence.push(known)
    }
    const other = disguise(random, world, history)
    if (JSON.stringify(other) !== JSON.stringify(history)) seen.different += 1
    const expected = expectEvents(sequence)
    const stage = await openStage(world, building)
    for (const one of [history, other]) {
      const stream = await stage.play(one)
      checkIds(stream)
      expect(told(stream.events), `seed ${seed}`).toEqual(expected)
    }
    await stage.close()
    for (const [name] of expected) seen.events[name] = (seen.events[name] ?? 0) + 1
  }
  return seen
}
