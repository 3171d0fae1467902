import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { checkOneAtATime } from '../support/claim-over-laws.js'
import type { SeenEvent } from '../support/event-streams.js'
import { useStorages } from '../support/storages.js'
import { useStreams } from './support/changes.js'

// CONTRACT.md §9, "Standing"; §5, "Claims over claims"

const text = { type: 'string' } as const
const member = {
  user: { ...text, index: true },
  company: { ...text, index: true },
  until: { type: 'timestamp' },
} as const

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { text, by: text },
      permissions: {
        user: { read: { where: { by: { $in: '$user.colleagues' } } } },
        agent: { read: { where: { by: { $in: '$user.agentOf' } } } },
        timed: { read: { where: { by: { $in: '$user.lately' } } } },
        admin: true,
      },
    },
    agents: { schema: member, permissions: { admin: true } },
    members: { schema: member, permissions: { admin: true } },
    users: {
      schema: {
        name: { type: 'string', unique: true, required: true },
        pin: { type: 'hash', required: true },
        role: text,
      },
      permissions: { admin: true },
    },
  },
  auth: {
    roleField: 'role',
    claims: {
      agentOf: { from: 'agents', where: { user: '$user._id' }, take: 'company' },
      current: { from: 'agents', where: { user: '$user._id', until: { $gt: '$now' } }, take: 'company' },
      colleagues: { from: 'members', where: { company: { $in: '$user.agentOf' } }, take: 'user' },
      lately: { from: 'members', where: { company: { $in: '$user.current' } }, take: 'user' },
    },
  },
} as const

const serve = useStreams()

const namesOf = (events: readonly SeenEvent[]): readonly string[] => events.map(({ event }) => event)

const ann = { id: 'ann' }

describe.each(useStorages())('in %s', (_, create) => {
  test('a base that changes what a claim gives begins anew, and one that leaves it tells nothing', async () => {
    const { open, write } = await serve({ adapter: create(), config })
    for (const company of ['a', 'b']) await write('POST /members', { user: 'cleo', company })
    await write('POST /members', { user: 'dora', company: 'c' })
    const agent = await write('POST /agents', { user: 'ann', company: 'a' })
    const stream = await open('/notes/changes', { caller: ann })
    await write('POST /notes', { text: '1', by: 'cleo' })
    await write(`PATCH /agents/${agent._id}`, { company: 'b' })
    await write('POST /agents', { user: 'ann', company: 'a' })
    await write('POST /agents', { user: 'ben', company: 'c' })
    await write('POST /notes', { text: '2', by: 'cleo' })
    await write(`PATCH /agents/${agent._id}`, { company: 'c' })
    await write('POST /notes', { text: '3', by: 'dora' })
    expect(namesOf(await stream.until(5))).toEqual(['reset', 'enter', 'enter', 'reset', 'enter'])
  })

  test('what the claim is made of counts with the values that the base has by now', async () => {
    const { open, write } = await serve({ adapter: create(), config })
    for (const company of ['a', 'b']) await write('POST /members', { user: 'cleo', company })
    const agent = await write('POST /agents', { user: 'ann', company: 'a' })
    const stream = await open('/notes/changes', { caller: ann })
    await write(`PATCH /agents/${agent._id}`, { company: 'b' })
    await write('POST /members', { user: 'dora', company: 'a' })
    await write('POST /notes', { text: '1', by: 'cleo' })
    await write('POST /members', { user: 'dora', company: 'b' })
    await write('POST /notes', { text: '2', by: 'dora' })
    expect(namesOf(await stream.until(4))).toEqual(['reset', 'enter', 'reset', 'enter'])
  })

  test('a base counts where a rule uses it itself', async () => {
    const { open, write } = await serve({ adapter: create(), config })
    for (const company of ['a', 'b']) await write('POST /members', { user: 'cleo', company })
    const agent = await write('POST /agents', { user: 'ann', company: 'a' })
    const stream = await open('/notes/changes', { caller: { ...ann, roles: ['agent'] } })
    await write(`PATCH /agents/${agent._id}`, { company: 'b' })
    await write('POST /notes', { text: '1', by: 'cleo' })
    expect(namesOf(await stream.until(3))).toEqual(['reset', 'reset', 'enter'])
  })

  test('a stream goes on where the claim is what it was, and never was another', async () => {
    const { open, write } = await serve({ adapter: create(), config })
    for (const company of ['a', 'b']) await write('POST /members', { user: 'cleo', company })
    const agent = await write('POST /agents', { user: 'ann', company: 'a' })
    const stream = await open('/notes/changes', { caller: ann })
    await stream.close()
    const id = stream.events[0]?.id ?? ''
    const again = async () => {
      const headers = { 'last-event-id': id }
      return namesOf((await open('/notes/changes', { caller: ann, headers })).events)
    }
    await write('POST /notes', { text: '1', by: 'cleo' })
    await write(`PATCH /agents/${agent._id}`, { company: 'b' })
    await write('POST /members', { user: 'dora', company: 'a' })
    expect(await again()).toEqual(['enter'])
    await write(`PATCH /agents/${agent._id}`, { company: 'c' })
    await write(`PATCH /agents/${agent._id}`, { company: 'b' })
    expect(await again()).toEqual(['reset'])
  })
})

test('one claim over claims is read at a time, and nothing is sent meanwhile to those whom it concerns', () =>
  checkOneAtATime())

test('where a base depends on the time, a write that changes it begins anew, and no other one', async () => {
  const { open, write } = await serve({ adapter: createMemoryAdapter(), config })
  const until = '2999-01-01T00:00:00.000Z'
  await write('POST /members', { user: 'cleo', company: 'a' })
  await write('POST /members', { user: 'dora', company: 'b' })
  const agent = await write('POST /agents', { user: 'ann', company: 'a', until })
  const stream = await open('/notes/changes', { caller: { ...ann, roles: ['timed'] } })
  await write('POST /agents', { user: 'ben', company: 'b', until })
  await write('POST /members', { user: 'emil', company: 'c' })
  await write('POST /notes', { text: '1', by: 'cleo' })
  await write(`PATCH /agents/${agent._id}`, { company: 'b' })
  await write('POST /notes', { text: '2', by: 'dora' })
  await write('POST /members', { user: 'emil', company: 'b' })
  await write('POST /notes', { text: '3', by: 'emil' })
  expect(namesOf(await stream.until(6))).toEqual(['reset', 'enter', 'reset', 'enter', 'reset', 'enter'])
})
