import { describe, expect, test } from 'vitest'
import { WaitingLine } from '../../../src/core/waiting-line.js'

// CONTRACT.md §6, "Scheduling"

describe('a line of promises', () => {
  const createLine = (capacity: number) =>
    new WaitingLine<string, string>(capacity, (aborted) => aborted?.reason ?? new Error('full'))

  test('gives each waiter its place, in the order of a fair queue', async () => {
    const line = createLine(10)
    const got: string[] = []
    const wait = async (about: string, caller: string) => {
      got.push(`${about} got ${await line.wait(about, { caller })}`)
    }
    const all = [wait('a1', 'a'), wait('a2', 'a'), wait('b1', 'b')]
    for (const place of ['one', 'two', 'three']) line.take()?.start(place)
    await Promise.all(all)
    expect(got).toEqual(['a1 got one', 'b1 got two', 'a2 got three'])
    expect(line.take()).toBeUndefined()
  })

  test('gives a place only to a waiter that may go', async () => {
    const line = createLine(10)
    const first = line.wait('first', {})
    const second = line.wait('second', {})
    line.take(({ about }) => about === 'second')?.start('place')
    expect(await second).toBe('place')
    line.take()?.refuse(new Error('no'))
    await expect(first).rejects.toThrow('no')
  })

  test('rejects the last waiter of the busiest caller when it is full', async () => {
    const line = createLine(1)
    const stays = line.wait('a', { caller: 'a' })
    await expect(line.wait('b', { caller: 'a' })).rejects.toThrow('full')
    line.take()?.start('place')
    expect(await stays).toBe('place')
  })

  test('rejects a waiter whose signal aborts, before or during the wait, and forgets it', async () => {
    const line = createLine(10)
    await expect(line.wait('late', { signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow('over')
    const controller = new AbortController()
    const waiting = line.wait('soon late', { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(line.take()).toBeUndefined()
  })
})
