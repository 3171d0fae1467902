import { expect } from 'vitest'
import { type createCollectionService, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createTestService } from './service.js'
import { idOf, LONG_AGO } from './stored.js'

type Create = typeof createCollectionService
type Json = { readonly [name: string]: unknown }

const by = (operator: string, claim: string) => ({ by: { [operator]: `$user.${claim}` } })
const member = { user: { type: 'string', index: true }, company: { type: 'string', index: true } }

/** Notes of colleagues: of those who are in the companies of which the caller is an agent. */
export const OVER_CONFIG = {
  collections: {
    agents: { schema: member, permissions: { root: true } },
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

  // The base changes after it was read, and before the claim is.
  const { state: _, ...memory } = createMemoryAdapter()
  let isMoving = false
  const adapter: StorageAdapter = {
    ...memory,
    async list(collection, query) {
      if (collection === 'members' && isMoving) {
        isMoving = false
        const replace = { ...(STORED.agents[0] as Json), company: 'b' } as never as { _id: string }
        const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 2 }
        await memory.write([{ in: 'agents', replace: { ...replace, ...system }, version: 1 }], {})
      }
      return memory.list(collection, query)
    },
  }
  const moving = await openOver(STORED, { create, adapter })
  isMoving = true
  const both = { caller: { id: 'ann', roles: ['both'] } }
  expect((await moving.list('/notes', 'by', both)).sort()).toEqual(['b', 'dora'])
}
