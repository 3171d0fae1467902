import { expect, vi } from 'vitest'
import type { createCollectionService } from '../../src/index.js'
import { ServiceError } from '../../src/index.js'
import { createCounted, FAILING, LIVE, NOTES, pass, probe, READY } from './probes.js'
import { createTestService } from './service.js'

/** What probes of every service learn (CONTRACT.md §7, "Health"). */

type Create = typeof createCollectionService

function open(create: Create, texts: readonly string[] = []) {
  const { adapter, calls, next } = createCounted({}, { notes: texts.map((text) => ({ text })) })
  const service = createTestService(NOTES, { create, adapter })
  const ask = (name?: 'live' | 'ready') => probe(service, name)
  return { ...service, calls, next, ask }
}

const fail = (): never => {
  throw new ServiceError('storage_unavailable', 'It is down.')
}

/** Holds a build of the library against what probes may cost and tell. */
export async function checkProbes(create: Create): Promise<void> {
  try {
    const one = open(create)
    expect([await one.ask('live'), one.calls]).toEqual([LIVE, []])
    const all = await Promise.all(Array.from({ length: 100 }, () => one.ask()))
    for (const answer of all) expect(answer).toEqual(READY)
    expect(one.calls).toEqual(['list notes'])

    // What is stored makes no difference.
    expect(await open(create, ['secret']).ask()).toEqual(READY)

    one.next.list = fail
    pass()
    expect([await one.ask(), await one.ask('live')]).toEqual([FAILING, LIVE])
    delete one.next.list
    pass()
    expect(await one.ask()).toEqual(READY)

    one.next.write = fail
    await one.send('POST /notes', { body: { text: 'a' }, mayFail: true })
    pass()
    expect(await one.ask()).toEqual(FAILING)
    delete one.next.write
    pass()
    expect(await one.ask()).toEqual(READY)
    expect((await one.send('GET /notes')).body).toEqual([])
    one.calls.length = 0
    pass()
    expect([await one.ask(), one.calls]).toEqual([READY, ['list notes']])

    await one.handler.close()
    expect([await one.ask(), await one.ask('live')]).toEqual([FAILING, LIVE])
  } finally {
    vi.restoreAllMocks()
  }
}
