import { afterEach, expect, test, vi } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { useStreams } from './support/changes.js'

// CONTRACT.md §6, "Scheduling", §9, "Events"

const serve = useStreams()

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { text: { type: 'string' }, n: { type: 'integer' } },
      permissions: { '*': true },
    },
  },
} as const

/** So many lists that all of them take many slices, and none of them takes one. */
const LISTS = 200

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  vi.restoreAllMocks()
})

/** Calls `onTurn` at each turn of the event loop. */
function watchTurns(onTurn: () => void): void {
  let isOn = true
  stops.push(() => {
    isOn = false
  })
  const turn = (): void => {
    onTurn()
    if (isOn) setImmediate(turn)
  }
  setImmediate(turn)
}

test('many lists with conditions of their own are judged in turns', async () => {
  const { open, write } = await serve({ adapter: createMemoryAdapter(), config })
  const conditionOf = (i: number): string =>
    Array.from({ length: 4 }, (_, j) => `q[$or][${j}][text][$regex]=^(a|b)*c${i}x${j}$`).join('&')
  const streams = []
  for (let i = 0; i < LISTS; i++) streams.push(await open(`/notes/changes?${conditionOf(i)}`))
  let turns = 0
  watchTurns(() => {
    turns += 1
  })
  // What nobody sees needs no turn for anything but judging.
  await write('POST /notes', { text: 'ab' })
  expect(turns).toBeGreaterThan(LISTS / 40)
  await write('POST /notes', { text: `bac${LISTS - 1}x3` })
  const seen = streams.map(({ events }) => events.map(({ event }) => event).join())
  expect(seen).toEqual(streams.map((_, i) => (i === LISTS - 1 ? 'reset,enter' : 'reset')))
})

test('the events of many lists are written in turns, and each list has its own in their order', async () => {
  const { open, write } = await serve({ adapter: createMemoryAdapter(), config })
  const streams = []
  for (let i = 0; i < LISTS; i++) streams.push(await open(`/notes/changes?q[n][$gte]=${-i}`))
  const encrypt = crypto.subtle.encrypt.bind(crypto.subtle)
  let [sealed, most, all] = [0, 0, 0]
  vi.spyOn(crypto.subtle, 'encrypt').mockImplementation((...given) => {
    sealed += 1
    all += 1
    most = Math.max(most, sealed)
    return encrypt(...given)
  })
  watchTurns(() => {
    sealed = 0
  })
  const documents = Array.from({ length: 10 }, (_, n) => ({ n }))
  await write('POST /notes/bulk', { documents })
  expect(all).toBe(10 * LISTS)
  expect(most).toBeLessThan(LISTS)
  for (const stream of streams) {
    const events = await stream.until(1 + documents.length)
    expect(events.map(({ data }) => data.n)).toEqual([undefined, ...documents.map(({ n }) => n)])
  }
})
