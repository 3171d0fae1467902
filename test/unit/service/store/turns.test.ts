import { describe, expect, test } from 'vitest'
import { Lost, tryInTurn } from '../../../../src/service/store/try-in-turn.js'
import { type Turn, Turns } from '../../../../src/service/store/turns.js'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Takes a turn, and says so. */
async function take(turns: Turns, name: string, documents: readonly string[], told: string[]): Promise<Turn> {
  const turn = await turns.take(documents)
  told.push(name)
  return turn
}

describe('turns', () => {
  test('come in the order in which they were asked for, by document', async () => {
    const turns = new Turns()
    const told: string[] = []
    const first = await take(turns, 'first', ['a'], told)
    const waiting = ['second', 'third'].map((name) => take(turns, name, ['a'], told))
    const other = await take(turns, 'other', ['b'], told)
    await settle()
    expect(told).toEqual(['first', 'other'])
    expect(turns.findTaken(['c', undefined, 'b'])).toBe('b')
    other.end()
    expect(turns.findTaken(['c', undefined, 'b'])).toBeUndefined()
    first.end()
    first.end()
    ;(await waiting[0])?.end()
    ;(await waiting[1])?.end()
    expect(told).toEqual(['first', 'other', 'second', 'third'])
    expect(turns.lines.size).toBe(0)
  })

  test('at several documents are taken in one order, so nobody waits for who waits for it', async () => {
    const turns = new Turns()
    const told: string[] = []
    const one = await take(turns, 'one', ['a', 'b'], told)
    const others = [take(turns, 'ba', ['b', 'a'], told), take(turns, 'ab', ['a', 'b'], told)]
    one.end()
    for (const other of others) (await other).end()
    expect(told).toEqual(['one', 'ba', 'ab'])
    expect(turns.lines.size).toBe(0)
  })

  test('are given on by who takes too long, and no longer belong to who had them', async () => {
    const turns = new Turns()
    const told: string[] = []
    const slow = await take(turns, 'slow', ['a'], told)
    const next = await take(turns, 'next', ['a'], told)
    const last = take(turns, 'last', ['a'], told)
    slow.tell(1, true)
    slow.end()
    await settle()
    expect(told).toEqual(['slow', 'next'])
    next.end()
    ;(await last).end()
    expect(turns.lines.size).toBe(0)
  })
})

describe('who has lost an attempt', () => {
  const lost = (at?: string, isAsked = true): Lost => new Lost(at === undefined ? [] : [at], { isAsked })

  /** Counts attempts whose results are given. */
  async function run(first: Lost, results: readonly (Lost | 'done')[], attempts = 10) {
    const turns = new Turns()
    const held: (string | undefined)[] = []
    const left = [...results]
    const result = await tryInTurn(
      turns,
      () => {
        held.push([...turns.lines.keys()].join())
        return left.shift() ?? lost()
      },
      first,
      attempts,
    )
    expect(turns.lines.size).toBe(0)
    return { result, held }
  }

  test('tries in turn at the documents at which it was lost', async () => {
    expect(await run(lost('b'), [lost('a'), lost(), 'done'])).toEqual({
      result: 'done',
      held: ['b', 'a,b', 'a,b'],
    })
  })

  test('has so many attempts in all, of which one that left a document to others is none', async () => {
    expect((await run(lost('a'), [])).held).toHaveLength(9)
    expect((await run(lost('a', false), [])).held).toHaveLength(10)
    expect((await run(lost('a'), [], 3)).result).toBeInstanceOf(Lost)
  })

  test('gives its turn back when an attempt fails', async () => {
    const turns = new Turns()
    const failing = tryInTurn(turns, () => Promise.reject(new Error('down')), lost('a'), 10)
    await expect(failing).rejects.toThrow('down')
    expect(turns.lines.size).toBe(0)
  })
})
