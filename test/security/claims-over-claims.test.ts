import { describe, expect, test } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import { openOver } from '../support/claim-over-laws.js'
import { closeAfterEach, useAllStorages } from '../support/storages.js'
import { idOf, LONG_AGO } from '../support/stored.js'

// CONTRACT.md §5, "Claims over claims"

/** What somebody would try who wants to be a colleague of people in another company. */

const opened = closeAfterEach()

const AGENT = idOf(901)
const CLEO = idOf(902)

const STORED = {
  agents: [
    { _id: AGENT, user: 'ann', company: 'a' },
    { _id: idOf(903), user: 'ben', company: 'b' },
  ],
  members: [
    { _id: CLEO, user: 'cleo', company: 'b' },
    { user: 'dora', company: 'a' },
  ],
  notes: [{ _id: idOf(911), by: 'cleo' }, { by: 'dora' }],
}

const ann = { caller: { id: 'ann' } }
const root = { caller: { id: 'root', roles: ['root'] } }

async function open(adapter: StorageAdapter) {
  const service = await openOver(STORED, { adapter })
  opened.push(service)
  return service
}

describe.each(useAllStorages())('in %s', (_, create) => {
  test('what a host says of a caller stands in for neither claim', async () => {
    const { list } = await open(create())
    for (const fields of [
      { colleagues: ['cleo'] },
      { agentOf: ['b'] },
      { roles: ['agentOf', 'colleagues'] },
      { office: { $in: ['ben'] } },
    ])
      expect(await list('/notes', 'by', { caller: { id: 'ann', ...fields } })).toEqual(['dora'])
  })

  test('a query knows neither', async () => {
    const { send } = await open(create())
    for (const query of ['q[by]="$user.colleagues"', 'q[by][$in]=["$user.agentOf"]'])
      expect((await send(`GET /notes?${query}`, ann)).body).toEqual([])
    for (const query of ['q[$user.agentOf]=1', 'sort[colleagues]=1', 'project=["colleagues"]'])
      expect((await send(`GET /notes?${query}`, ann)).status).toBe(400)
  })

  test('nothing that gives either can be written by those who gain from it', async () => {
    const { send } = await open(create())
    const denied = async (line: string, body?: object) =>
      expect((await send(line, { ...ann, ...(body ? { body } : {}) })).status).toBeGreaterThan(400)
    await denied('POST /agents', { user: 'ann', company: 'b' })
    await denied('POST /members', { user: 'cleo', company: 'a' })
    await denied(`PATCH /agents/${AGENT}`, { company: 'b' })
    await denied(`PATCH /members/${CLEO}`, { company: 'a' })
    await denied('POST /_batch', {
      operations: [
        { method: 'POST', path: '/agents', body: { user: 'ann', company: 'b' } },
        { method: 'GET', path: `/notes/${idOf(911)}` },
      ],
    })
    expect((await send('GET /notes/count', ann)).body).toEqual({ total: 1 })
  })

  test('whoever is no agent any more sees, counts and writes nothing of the colleagues', async () => {
    const { send, list } = await open(create())
    expect((await send(`PATCH /agents/${AGENT}`, { ...root, body: { company: 'b' } })).status).toBe(200)
    expect(await list('/notes', 'by', ann)).toEqual(['cleo'])
    expect((await send(`DELETE /agents/${AGENT}`, root)).status).toBe(204)
    expect((await send('GET /notes', ann)).body).toEqual([])
    expect((await send('GET /notes/count', ann)).body).toEqual({ total: 0 })
    expect((await send(`GET /notes/${idOf(911)}`, ann)).status).toBe(404)
    expect((await send(`PATCH /notes/${idOf(911)}`, { ...ann, body: { by: 'ann' } })).status).toBe(404)
    const operations = [{ method: 'GET', path: `/notes/${idOf(911)}` }]
    expect((await send('POST /_batch', { ...ann, body: { operations } })).body.status).toBe(404)
  })

  test('where an agent and a member change places, the two never meet', async () => {
    const { adapter, list } = await open(create())
    const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
    let isOver = false
    const swap = async () => {
      for (let version = 1; !isOver; version++) {
        const [here, there] = version % 2 === 1 ? ['b', 'a'] : ['a', 'b']
        const agent = { _id: AGENT, user: 'ann', company: here, ...system, _version: version + 1 }
        const member = { _id: CLEO, user: 'cleo', company: there, ...system, _version: version + 1 }
        const steps = [
          { in: 'agents', replace: agent, version },
          { in: 'members', replace: member, version },
        ]
        expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const swapping = swap()
    const seen = new Set<unknown>()
    for (let round = 0; round < 20; round++) {
      const lists = await Promise.all([1, 2, 3].map(() => list('/notes', 'by', { ...ann, mayFail: true })))
      for (const found of lists.flat()) seen.add(found)
    }
    isOver = true
    await swapping
    expect(seen).not.toContain('cleo')
    expect([...seen]).toEqual(['dora'])
  })
})
