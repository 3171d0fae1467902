import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import { type Config, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { idOf, LONG_AGO } from '../support/stored.js'
import { rounds } from '../support/tier.js'
import { patch, post, type Send, startHere, startProcess, useProcesses } from './support/sending.js'
import { connect, engines } from './support/stores.js'
import { createUnsteadyAdapter } from './support/unsteady-adapter.js'

// CONTRACT.md §2, "Match"

/** A project changes its team while tasks are stored under it, or move to it. */

const ROUNDS = rounds(25, 1000)

/** After so many that nobody but one has come first each time there was no race. */
const MOST_ROUNDS = 1000

const permissions = { '*': true } as const
const match = { team: 'team' } as const

const config = {
  collections: {
    projects: { schema: { team: { type: 'string' } }, permissions },
    tasks: {
      schema: {
        team: { type: 'string' },
        project: { type: 'reference', collection: 'projects', match },
        others: { type: 'array', items: { type: 'reference', collection: 'projects', match } },
      },
      permissions,
    },
  },
} satisfies Config

useProcesses()

/** A project of team a for each round, and two tasks: of team a without a project, and of b. */
async function fill(adapter: StorageAdapter): Promise<void> {
  const system = { _version: 1, createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
  const steps = Array.from({ length: MOST_ROUNDS }, (_, i) => [
    { in: 'projects', insert: { _id: idOf(i), team: 'a', ...system } },
    { in: 'tasks', insert: { _id: idOf(10_000 + i), team: 'a', ...system } },
    { in: 'tasks', insert: { _id: idOf(20_000 + i), team: 'b', ...system } },
  ])
  expect(await adapter.write(steps.flat(), {})).toMatchObject({ ok: true })
}

const ALLOWED = ['200', '201', '400 validation_failed', '409 reference_in_use']

async function check(senders: readonly Send[], adapter: StorageAdapter): Promise<void> {
  const seen = new Set<string>()
  const changes = new Set<string>()
  // Both must have come first now and then.
  const isRace = (): boolean => changes.has('200') && changes.has('409 reference_in_use')
  let round = 0
  for (; round < ROUNDS || (!isRace() && round < MOST_ROUNDS); round++) {
    const project = idOf(round)
    const [task, other] = [idOf(10_000 + round), idOf(20_000 + round)]
    const both = [
      { method: 'PATCH', path: `/projects/${project}`, body: { team: 'b' } },
      { method: 'PATCH', path: `/tasks/${task}`, body: { team: 'b' } },
    ]
    const requests = [
      [post('/tasks', { team: 'a', project }), patch(`/tasks/${task}`, { others: [project] })],
      [patch(`/projects/${project}`, { team: 'b' })],
      [post('/tasks/bulk', { documents: [{ team: 'a', project }, { team: 'a' }] })],
      [patch(`/tasks/${other}`, { project }), post('/_batch', { operations: both })],
    ]
    // Each process has its turn with each of them.
    const sent = senders.map((send, i) => send(requests[(i + round) % requests.length] ?? []))
    const answers = await Promise.all(sent)
    for (const outcome of answers.flat()) seen.add(outcome)
    for (const outcome of answers[(1 - round + 4 * MOST_ROUNDS) % requests.length] ?? []) changes.add(outcome)
  }
  expect([...seen].filter((outcome) => !ALLOWED.includes(outcome))).toEqual([])
  const all = { filter: everything, sort: [], skip: 0, limit: null }
  const teams = new Map((await adapter.list('projects', all)).map(({ _id, team }) => [_id, team]))
  const tasks = await adapter.list('tasks', all)
  const wrong = tasks.filter(({ team, project, others }) =>
    [project, ...((others ?? []) as string[])].some(
      (id) => id !== undefined && teams.get(String(id)) !== team,
    ),
  )
  expect(wrong).toEqual([])
  expect(isRace()).toBe(true)
}

describe('a reference whose target changes its side while it is made agrees, or is not made', () => {
  test('in memory', async () => {
    const adapter = createUnsteadyAdapter(createMemoryAdapter(), 1)
    const send = startHere(adapter, config)
    await send([{ method: 'GET', path: '/tasks' }])
    await fill(adapter)
    await check([send, send, send, send], adapter)
  })

  describe.each(engines)('%s', (_, useStores) => {
    const stores = useStores()

    test('from four processes', async () => {
      const store = stores.create()
      const senders = await Promise.all([0, 1, 2, 3].map(() => startProcess(store, config)))
      const adapter = connect(store)
      await adapter.open([])
      try {
        await fill(adapter)
        await check(senders, adapter)
      } finally {
        await adapter.close()
      }
    })
  })
})
