import { describe, expect, test } from 'vitest'
import { FairQueue } from '../../../src/core/fair-queue.js'

// CONTRACT.md §6, "Scheduling"

/** A queue with entries `<caller><number>`, and those that had no room. */
function fill(entries: readonly string[], capacity?: number) {
  const queue = new FairQueue<string>(capacity)
  const refused = entries.flatMap((entry) => queue.add(entry, entry[0]) ?? [])
  return { queue, refused }
}

function drain(queue: FairQueue<string>): readonly string[] {
  const taken: string[] = []
  for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next)
  expect(queue.length).toBe(0)
  return taken
}

describe('a fair queue', () => {
  test.each<[what: string, entries: string[], served: string[]]>([
    ['serves one caller in order', ['a1', 'a2', 'a3'], ['a1', 'a2', 'a3']],
    ['serves callers in turn', ['a1', 'a2', 'a3', 'b1', 'b2'], ['a1', 'b1', 'a2', 'b2', 'a3']],
    [
      'serves a newcomer after one entry of each other',
      ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'],
      ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
    ],
  ])('%s', (_, entries, served) => {
    expect(drain(fill(entries).queue)).toEqual(served)
  })

  test('serves a caller who comes back after the others', () => {
    const { queue } = fill(['a1', 'a2', 'b1'])
    expect(queue.take()).toBe('a1')
    queue.add('a3', 'a')
    queue.add('c1', 'c')
    expect(drain(queue)).toEqual(['b1', 'a2', 'c1', 'a3'])
  })

  test('serves a newcomer before another entry of who is served', () => {
    const { queue } = fill(['a1', 'a2', 'a3'])
    expect(queue.take()).toBe('a1')
    queue.add('b1', 'b')
    expect(queue.peek()).toBe('b1')
    expect(drain(queue)).toEqual(['b1', 'a2', 'a3'])
    queue.pass('a')
    for (const entry of ['a4', 'b2']) queue.add(entry, entry[0])
    expect(drain(queue)).toEqual(['b2', 'a4'])
  })

  test('gives all without a caller one turn', () => {
    const queue = new FairQueue<string>()
    for (const entry of ['1', '2', '3']) queue.add(entry, undefined)
    queue.add('a', 'a')
    queue.add('4')
    expect(drain(queue)).toEqual(['1', 'a', '2', '3', '4'])
  })

  test.each<[what: string, entries: string[], refused: string[], served: string[]]>([
    ['its own entry, where it is alone', ['a1', 'a2', 'a3', 'a4'], ['a4'], ['a1', 'a2', 'a3']],
    ['the last of who has most', ['a1', 'a2', 'a3', 'b1'], ['a3'], ['a1', 'b1', 'a2']],
    ['and again', ['a1', 'a2', 'a3', 'b1', 'c1'], ['a3', 'a2'], ['a1', 'b1', 'c1']],
    ['the newcomer, where none has more', ['a1', 'b1', 'c1', 'd1'], ['d1'], ['a1', 'b1', 'c1']],
    ['who would have as many as the other', ['a1', 'a2', 'b1', 'b2'], ['b2'], ['a1', 'b1', 'a2']],
  ])('that is full refuses %s', (_, entries, refused, served) => {
    const full = fill(entries, 3)
    expect(full.refused).toEqual(refused)
    expect(drain(full.queue)).toEqual(served)
  })

  test('without room refuses all', () => {
    expect(fill(['a1', 'b1'], 0).refused).toEqual(['a1', 'b1'])
  })

  test('forgets an entry that leaves, and makes room', () => {
    const { queue } = fill(['a1', 'a2', 'b1'], 3)
    expect(queue.delete('a1')).toBe(true)
    expect(queue.delete('a1')).toBe(false)
    expect(queue.add('a3', 'a')).toBeUndefined()
    expect(queue.delete('b1')).toBe(true)
    expect([...queue]).toEqual(['a2', 'a3'])
    expect(drain(queue)).toEqual(['a2', 'a3'])
  })

  test('takes the first that may go, and keeps the turn of the others', () => {
    const { queue } = fill(['a1', 'a2', 'b1', 'b2'])
    expect(queue.peek()).toBe('a1')
    expect(queue.take((entry) => entry === 'c')).toBeUndefined()
    expect(queue.take((entry) => entry === 'b2')).toBe('b2')
    expect(queue.take((entry) => entry !== 'a1')).toBe('a2')
    expect(drain(queue)).toEqual(['b1', 'a1'])
    expect(queue.peek()).toBeUndefined()
  })

  test('adds what waits for several callers for the one who has least', () => {
    const { queue } = fill(['a1', 'a2', 'b1'])
    queue.add('abc', 'a', 'b', 'c')
    queue.add('ab', 'a', 'b')
    expect(drain(queue)).toEqual(['a1', 'b1', 'abc', 'a2', 'ab'])
  })
})
