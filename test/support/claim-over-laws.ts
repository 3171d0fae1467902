import { expect } from 'vitest'
import {
  type createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
  type WriteStep,
} from '../../src/index.js'
import { type OpenStream, readStream, watchLog } from './event-streams.js'
import { createTestService } from './service.js'
import { idOf, isOfStart, LONG_AGO } from './stored.js'
import { until } from './until.js'

type Create = typeof createCollectionService
type Json = { readonly [name: string]: unknown }

const by = (operator: string, claim: string) => ({ by: { [operator]: `$user.${claim}` } })
const member = { user: { type: 'string', index: true }, company: { type: 'string', index: true } }

/** Notes of colleagues: of those who are in the companies of which the caller is an agent. */
export const OVER_CONFIG = {
  collections: {
    agents: { schema: member, permissions: { root: true, founder: { create: true } } },
    members: { schema: member, permissions: { root: true } },
    notes: {
      schema: { by: { type: 'string' }, people: { type: 'array', items: { type: 'string' } } },
      permissions: {
        user: {
          read: { where: by('$in', 'colleagues') },
          update: { where: by('$in', 'colleagues'), check: {} },
        },
        stranger: { read: { where: by('$nin', 'colleagues') } },
        clerk: { read: { where: by('$nin', 'ofOffice') } },
        both: { read: { where: { $or: [by('$in', 'colleagues'), by('$in', 'agentOf')] } } },
        root: true,
      },
    },
  },
  auth: {
    claims: {
      agentOf: { from: 'agents', where: { user: '$user._id' }, take: 'company' },
      officeOf: { from: 'agents', where: { user: '$user.office' }, take: 'company' },
      colleagues: { from: 'members', where: { company: { $in: '$user.agentOf' } }, take: 'user' },
      ofOffice: { from: 'members', where: { company: { $in: '$user.officeOf' } }, take: 'user' },
    },
  },
}

/** A service over some documents; `behind` runs after a list of a collection was read. */
export async function openOver(
  stored: { readonly [collection: string]: readonly Json[] },
  { create, adapter }: { readonly create?: Create | undefined; readonly adapter?: StorageAdapter } = {},
) {
  const service = createTestService(OVER_CONFIG, {
    adapter: adapter ?? createMemoryAdapter(),
    authenticate: () => null,
    ...(create ? { create } : {}),
  })
  await service.handler.ready()
  const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 1 }
  const steps = Object.entries(stored).flatMap(([name, documents], at) =>
    documents.map((document, i) => ({
      in: name,
      insert: { _id: idOf(10_000 * at + i), ...system, ...document },
    })),
  )
  const { ok } = await service.adapter.write(steps, {})
  expect(ok).toBe(true)
  return service
}

const STORED = {
  agents: [
    { _id: idOf(901), user: 'ann', company: 'a' },
    { user: 'ben', company: 'b' },
  ],
  members: [
    { user: 'cleo', company: 'a' },
    { user: 'dora', company: 'b' },
  ],
  notes: [{ by: 'cleo' }, { by: 'dora' }, { by: 'a' }, { by: 'b' }],
}

const NAMED = [
  { _id: idOf(910), by: 'cleo' },
  { _id: idOf(911), by: 'dora' },
]

/** What has to hold of claims over claims (CONTRACT.md §5), in memory. Throws where it does not. */
export async function checkClaimsOver(create?: Create): Promise<void> {
  const { list } = await openOver(STORED, { create })
  const see = async (id: string, ...roles: string[]) =>
    (await list('/notes', 'by', { caller: { id, roles } })).sort()
  // What is kept of one caller is not told to another.
  for (const _ of [1, 2]) {
    expect(await see('ann')).toEqual(['cleo'])
    expect(await see('ben')).toEqual(['dora'])
    expect(await see('zoe')).toEqual([])
  }
  // Whoever lacks the base has no office: nothing is outside it.
  expect(await see('zoe', 'clerk')).toEqual([])

  // A base without values leaves everything outside.
  expect(await see('zoe', 'stranger')).toEqual(['a', 'b', 'cleo', 'dora'])

  const many = Array.from({ length: 1001 }, () => ({ user: 'ann', company: 'a' }))
  const full = await openOver({ ...STORED, agents: many }, { create })
  const options = { caller: { id: 'ann', roles: ['stranger'] } }
  expect(await full.list('/notes', 'by', options)).toEqual(['cleo'])

  // An operation of a batch sees what the ones before have made of a claim that was read already.
  const { send } = await openOver({ ...STORED, notes: NAMED }, { create })
  const agent = { method: 'POST', path: '/agents', body: { user: 'ann', company: 'b' } }
  const [cleo, dora] = NAMED.map(({ _id }) => ({ method: 'GET', path: `/notes/${_id}` }))
  const batch = await send('POST /_batch', {
    caller: { id: 'ann', roles: ['founder'] },
    body: { operations: [cleo, agent, dora] },
  })
  expect([batch.status, batch.body.results?.[2]?.body.by]).toEqual([200, 'dora'])

  // The base changes after it was read, and before the claim is.
  for (const isTogether of [false, true]) {
    const { adapter, calls, move } = movingAdapter(isTogether)
    const moving = await openOver(STORED, { create, adapter })
    const both = { caller: { id: 'ann', roles: ['both'] } }
    calls.length = 0
    expect((await moving.list('/notes', 'by', both)).sort()).toEqual(['a', 'cleo'])
    expect(calls).toEqual(
      isTogether ? ['agents', 'members agents', 'notes'] : ['agents', 'members', 'agents', 'notes'],
    )
    move()
    expect((await moving.list('/notes', 'by', both)).sort()).toEqual(['b', 'dora'])
  }

  // The base changes after it was read, and has its earlier value again when it is read the second time.
  const swapped = await openOver(STORED, { create, adapter: swappingAdapter() })
  expect(await swapped.list('/notes', 'by', { caller: { id: 'ann' } })).toEqual(['cleo'])
}

/**
 * A storage in which an agent and two members are in other companies while members are read for the first time: dora is
 * then where ann was agent before, and is again afterwards.
 */
function swappingAdapter(): StorageAdapter {
  const { state: _, ...memory } = createMemoryAdapter()
  let version = 0
  const swap = async (agentOf: string, ofCleo: string, ofDora: string): Promise<void> => {
    version += 1
    const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: version + 1 }
    const replace = (name: string, id: number, user: string, company: string): WriteStep => ({
      in: name,
      replace: { _id: idOf(id), user, company, ...system },
      version,
    })
    const steps = [
      replace('agents', 901, 'ann', agentOf),
      replace('members', 10_000, 'cleo', ofCleo),
      replace('members', 10_001, 'dora', ofDora),
    ]
    expect(await memory.write(steps, {})).toMatchObject({ ok: true })
  }
  return {
    ...memory,
    async list(collection, query) {
      if (collection !== 'members' || version > 0 || isOfStart(query)) return memory.list(collection, query)
      await swap('b', 'b', 'a')
      const found = await memory.list(collection, query)
      await swap('a', 'a', 'b')
      return found
    },
  }
}

/** A storage that says nothing of its state, and the reads in it; an agent changes before the next read of members. */
function movingAdapter(isTogether: boolean) {
  const { state: _, ...memory } = createMemoryAdapter()
  const calls: string[] = []
  let isMoving = false
  const changeAgent = async (): Promise<void> => {
    if (!isMoving) return
    isMoving = false
    const replace = { ...(STORED.agents[0] as Json), company: 'b' } as never as { _id: string }
    const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 2 }
    await memory.write([{ in: 'agents', replace: { ...replace, ...system }, version: 1 }], {})
  }
  const adapter: StorageAdapter = {
    ...memory,
    async list(collection, query) {
      if (!isOfStart(query)) calls.push(collection)
      if (collection === 'members') await changeAgent()
      return memory.list(collection, query)
    },
  }
  if (isTogether) {
    adapter.listTogether = async (lists) => {
      calls.push(lists.map((list) => list.in).join(' '))
      await changeAgent()
      return Promise.all(lists.map((list) => memory.list(list.in, { ...list, sort: [], skip: 0 })))
    }
  }
  return {
    adapter,
    calls,
    move() {
      isMoving = true
    },
  }
}

const COMPANY = { company: { $in: '$user.agentOf' } }

/** Claims that no configuration may have. */
const FAULTY: readonly Json[] = [
  { itself: { from: 'members', where: { company: { $in: '$user.itself' } }, take: 'company' } },
  { third: { from: 'members', where: { user: { $in: '$user.colleagues' } }, take: 'user' } },
  { misfit: { from: 'members', where: { note: { $in: '$user.agentOf' } }, take: 'user' } },
  { strange: { from: 'members', where: { note: { $in: '$user.ids' } }, take: 'user' } },
]

/** What has to hold of the bases of claims (CONTRACT.md §5): one level, and both sides of one type. Throws where it does not. */
export function checkBases(create?: Create): void {
  const open = (claims: Json) => {
    const schema = { ...member, note: { type: 'reference', collection: 'notes' } }
    const ids = { from: 'agents', where: { user: '$user._id' }, take: '_id' }
    const config = {
      collections: { ...OVER_CONFIG.collections, members: { schema, permissions: { root: true } } },
      auth: { claims: { ...OVER_CONFIG.auth.claims, ids, ...claims } },
    }
    createTestService(config, { authenticate: () => null, ...(create ? { create } : {}) })
  }
  open({ fourth: { from: 'members', where: COMPANY, take: 'user' } })
  for (const claims of FAULTY) {
    const [name = ''] = Object.keys(claims)
    expect(() => open(claims), name).toThrow(`/auth/claims/${name}/where`)
  }
}

/** Callers who are agents of the same company. */
const AGENTS = ['ann', 'ben', 'cem', 'dan']

/** A service with a stream for each agent, and what reads the claims of these streams. */
async function openAgents(create: Create | undefined) {
  const { state: _, ...memory } = createMemoryAdapter()
  /**
   * The readings of members; `gate` is what each of them waits for. Requests read claims too: `isPast` counts only what a
   * stream reads to learn what claims were, in the order of age.
   */
  const readings = { now: 0, most: 0, total: 0, isPast: false, gate: Promise.resolve() as Promise<unknown> }
  const { adapter, ...log } = watchLog({
    ...memory,
    async list(collection, query) {
      const isCounted = !readings.isPast || query.sort.length > 0
      if (collection !== 'members' || isOfStart(query) || !isCounted) return memory.list(collection, query)
      readings.now += 1
      readings.total += 1
      readings.most = Math.max(readings.most, readings.now)
      await readings.gate
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
      readings.now -= 1
      return memory.list(collection, query)
    },
  })
  const { notes } = OVER_CONFIG.collections
  const config = {
    ...OVER_CONFIG,
    collections: { ...OVER_CONFIG.collections, notes: { ...notes, changes: true } },
  }
  const options = { adapter, authenticate: () => null, ...(create ? { create } : {}) }
  const { handler } = createTestService(config, options)
  await handler.ready()
  const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
  const write = async (...steps: readonly WriteStep[]): Promise<void> => {
    expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
  }
  const insert = (name: string, n: number, fields: Json): WriteStep => ({
    in: name,
    insert: { _id: idOf(n), ...system, _version: 1, ...fields },
  })
  const versions = new Map(AGENTS.map((user) => [user, 1]))
  const move = (user: string, company: string): WriteStep => {
    const version = versions.get(user) ?? 0
    versions.set(user, version + 1)
    const fields = { _id: idOf(AGENTS.indexOf(user)), user, company }
    return { in: 'agents', replace: { ...fields, ...system, _version: version + 1 }, version }
  }
  await write(
    ...AGENTS.map((user, n) => insert('agents', n, { user, company: 'a' })),
    insert('members', 100, { user: 'x', company: 'a' }),
    insert('members', 101, { user: 'y', company: 'b' }),
  )
  /** Opens the streams, each after the last event of an earlier one. */
  const listen = (after: readonly OpenStream[] = []): Promise<readonly OpenStream[]> =>
    Promise.all(
      AGENTS.map(async (id, i) => {
        const last = after[i]?.events.at(-1)?.id
        const headers = last === undefined ? {} : { 'last-event-id': last }
        const target = handler.as({ id, roles: [] })
        const stream = readStream(await target(new Request('http://service.test/notes/changes', { headers })))
        await stream.until(1)
        return stream
      }),
    )
  return { ...log, handler, readings, write, insert, move, listen }
}

/**
 * What has to hold of streams (CONTRACT.md §9, "Standing"): one reading of claims over claims at a time, and nothing is sent
 * meanwhile to those concerned. Throws where it does not.
 */
export async function checkOneAtATime(create?: Create): Promise<void> {
  const { handler, readings, begin, quiet, hold, write, insert, move, listen } = await openAgents(create)
  const streams = await listen()
  Object.assign(readings, { most: 0, total: 0 })
  await begin()
  // All of them change together.
  const release = hold()
  await write(...AGENTS.map((user) => move(user, 'b')), insert('notes', 200, { by: 'y' }))
  await release()
  await quiet()
  for (const stream of streams) expect((await stream.until(2))[1]?.event).toBe('reset')
  expect(readings.total).toBeGreaterThanOrEqual(AGENTS.length)
  // What the first one could see a moment ago comes while its claims are read.
  const [first] = streams
  if (!first) throw new Error('there are streams')
  let open = (): void => {}
  readings.gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const known = first.events.length
  await write(move('ann', 'a'))
  await write(insert('notes', 201, { by: 'y' }))
  await until(() => readings.now > 0)
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  expect(first.events).toHaveLength(known)
  open()
  await quiet()
  await first.until(known + 1)
  expect(first.events.slice(known).map(({ event }) => event)).toEqual(['reset'])
  // All of them come back together, and were something else meanwhile.
  for (const stream of streams) await stream.close()
  await write(...AGENTS.map((user) => move(user, user === 'ann' ? 'b' : 'a')))
  await write(...AGENTS.map((user) => move(user, user === 'ann' ? 'a' : 'b')))
  Object.assign(readings, { total: 0, isPast: true })
  const again = await listen(streams)
  for (const stream of again) expect(stream.events[0]?.event).toBe('reset')
  expect(readings.total).toBeGreaterThanOrEqual(AGENTS.length)
  expect(readings.most).toBe(1)
  for (const stream of again) await stream.close()
  await handler.close()
}
