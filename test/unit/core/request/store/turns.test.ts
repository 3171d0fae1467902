import { describe, expect, test, vi } from 'vitest'
import { isServiceError } from '../../../../../src/core/errors.js'
import { UNHURRIED } from '../../../../../src/core/request/deadline.js'
import { Line, MAX_WAITING, type Turn, Turns } from '../../../../../src/core/request/store/turns.js'
import { LeftToOthers, Lost, tryInTurn } from '../../../../../src/core/request/store.js'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Takes a turn, and says so. */
async function take(turns: Turns, name: string, documents: readonly string[], told: string[]): Promise<Turn> {
  const turn = await turns.take(documents, UNHURRIED)
  told.push(name)
  return turn
}

describe('turns', () => {
  test('that are asked for at the same time are one after another', async () => {
    const turns = new Turns()
    const told: string[] = []
    const all = ['first', 'second', 'third'].map((name) => take(turns, name, ['a', 'b'], told))
    await settle()
    expect(told).toEqual(['first'])
    for (const turn of all) (await turn).end()
    expect(told).toEqual(['first', 'second', 'third'])
  })

  test('come in the order in which they were asked for, by document', async () => {
    const turns = new Turns()
    const told: string[] = []
    const first = await take(turns, 'first', ['a'], told)
    const waiting = ['second', 'third'].map((name) => take(turns, name, ['a'], told))
    const other = await take(turns, 'other', ['b'], told)
    await settle()
    expect(told).toEqual(['first', 'other'])
    expect(turns.findTaken(['c', 'b'])).toEqual(['b'])
    other.end()
    expect(turns.findTaken(['c', 'b'])).toEqual([])
    first.end()
    first.end()
    ;(await waiting[0])?.end()
    ;(await waiting[1])?.end()
    expect(told).toEqual(['first', 'other', 'second', 'third'])
    expect(turns.lines.size).toBe(0)
  })

  test('at several documents are waited for at one of them, so nobody waits for who waits for it', async () => {
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
    slow.tell(300, 'a')
    expect([slow.isSlow, slow.isWhole, next.isWhole]).toEqual([true, false, true])
    slow.end()
    await settle()
    expect(told).toEqual(['slow', 'next'])
    next.end()
    ;(await last).end()
    expect(turns.lines.size).toBe(0)
  })

  test('are looked for by each who waits, where nobody else does', async () => {
    let ends = 0
    const line = new Line({}, () => {
      ends += 1
    })
    // As in a runtime that has ended the timer with the request that began it.
    const watch = vi.spyOn(line, 'watch').mockImplementation(() => {})
    const writer = {}
    await line.enter(writer, undefined)
    expect(line.isHeldBy(writer)).toBe(true)
    watch.mockRestore()
    line.leave(writer)
    await new Promise((resolve) => setTimeout(resolve, 3300))
    expect(ends).toBe(1)
  })

  test('at one document are not kept by who waits for another one', async () => {
    const turns = new Turns()
    const told: string[] = []
    const holder = await take(turns, 'holder', ['b'], told)
    const both = take(turns, 'both', ['a', 'b'], told)
    const quiet = await take(turns, 'quiet', ['a'], told)
    expect(told).toEqual(['holder', 'quiet'])
    for (const turn of [quiet, holder]) turn.end()
    ;(await both).end()
    expect(turns.lines.size).toBe(0)
  })

  test('are no longer waited for once the time is over', async () => {
    const turns = new Turns()
    let end = (): void => {}
    let listeners = 0
    const ending = {
      onOver(listener: () => void) {
        end = listener
        listeners += 1
        return () => {
          listeners -= 1
        }
      },
    }
    const holder = await turns.take(['a'], UNHURRIED)
    const gone = turns.take(['a'], ending)
    const last = turns.take(['a'], UNHURRIED)
    end()
    const left = await gone
    expect(listeners).toBe(0)
    holder.end()
    const turn = await last
    left.end()
    expect(turns.lines.size).toBe(1)
    turn.end()
    expect(turns.lines.size).toBe(0)
  })
})

describe('turns of several callers', () => {
  const by = (caller: string) => ({ ...UNHURRIED, caller })

  test('come one after another, whoever asked first', async () => {
    const turns = new Turns()
    const told: string[] = []
    const holder = await turns.take(['a'], by('x'))
    const all = ['x1', 'x2', 'x3', 'y1'].map(async (name) => {
      const turn = await turns.take(['a'], by(name.slice(0, 1)))
      told.push(name)
      turn.end()
    })
    holder.end()
    await Promise.all(all)
    expect(told).toEqual(['x1', 'y1', 'x2', 'x3'])
  })

  test('are refused beyond a thousand, the last of who has most', async () => {
    const turns = new Turns()
    const holder = await turns.take(['a'], by('x'))
    const told: string[] = []
    const take = async (name: string): Promise<void> => {
      try {
        const turn = await turns.take(['a'], by(name.slice(0, 1)))
        turn.end()
      } catch (thrown) {
        told.push(`${name} ${isServiceError(thrown) && thrown.code}`)
      }
    }
    const all = Array.from({ length: MAX_WAITING }, (_, i) => take(`x${i}`))
    all.push(take('y'))
    await settle()
    expect(told).toEqual([`x${MAX_WAITING - 1} overloaded`])
    holder.end()
    await Promise.all(all)
    expect(turns.lines.size).toBe(0)
  })
})

describe('who has lost an attempt', () => {
  const lost = (met?: string): Lost => (met === undefined ? new Lost([]) : new Lost([met], { met }))

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
      { attempts, deadline: UNHURRIED },
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

  test('at a document that it only reads takes turns after the third', async () => {
    const read = new Lost([], { read: 'a' })
    const { result, held } = await run(read, [read, read, read, 'done'])
    expect([result, held]).toEqual(['done', ['', '', 'a', 'a']])
  })

  test('at a document that it only reads tries ten times as often', async () => {
    const read = new Lost([], { read: 'a' })
    expect((await run(read, Array(200).fill(read))).held).toHaveLength(99)
    expect((await run(read, [...Array(30).fill(read), lost('b')])).held).toHaveLength(31)
  })

  test('has so many attempts in all, of which one that left a document to others is none', async () => {
    expect((await run(lost('a'), [])).held).toHaveLength(9)
    expect((await run(new LeftToOthers(['a']), [])).held).toHaveLength(10)
    expect((await run(lost('a'), [], 3)).result).toBeInstanceOf(Lost)
  })

  test('is told so when the time is over before its turn', async () => {
    const turns = new Turns()
    const holder = await turns.take(['a'], UNHURRIED)
    const entered: string[] = []
    let end = (): void => {}
    const deadline = {
      onOver(listener: () => void) {
        end = listener
        return () => {}
      },
      enter: (wait: string) => void entered.push(wait),
    }
    const late = tryInTurn(turns, () => Promise.reject(new Error('late')), lost('a'), {
      attempts: 10,
      deadline,
    })
    end()
    await expect(late).rejects.toThrow('late')
    expect(entered).toEqual(['turn'])
    holder.end()
    expect(turns.lines.size).toBe(0)
  })

  test('goes on beside the others once it was too slow', async () => {
    const turns = new Turns()
    let next: Promise<Turn> | undefined
    let attempts = 0
    const slow = async (): Promise<Lost | 'done'> => {
      attempts += 1
      if (attempts > 1) return 'done'
      next = turns.take(['a'], UNHURRIED)
      await new Promise((resolve) => setTimeout(resolve, 300))
      return lost('a')
    }
    const result = await tryInTurn<'done'>(turns, slow, lost('a'), { attempts: 10, deadline: UNHURRIED })
    expect([result, attempts]).toEqual(['done', 2])
    ;(await next)?.end()
    expect(turns.lines.size).toBe(0)
  })

  test('gives its turn back when an attempt fails', async () => {
    const turns = new Turns()
    const failing = tryInTurn(turns, () => Promise.reject(new Error('down')), lost('a'), {
      attempts: 10,
      deadline: UNHURRIED,
    })
    await expect(failing).rejects.toThrow('down')
    expect(turns.lines.size).toBe(0)
  })
})
