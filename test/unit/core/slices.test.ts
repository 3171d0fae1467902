import { describe, expect, test } from 'vitest'
import { bounds } from '../../../src/core/bounds.js'
import {
  forEachCounted,
  forEachSliced,
  inOneSlice,
  inSlices,
  mapSliced,
  type Slice,
  Slices,
  sortSliced,
  stepsTaken,
  takeFirstSlice,
  untilDone,
} from '../../../src/core/slices.js'
import type { MaybePromise } from '../../../src/core/types.js'

const { slice: SLICE } = bounds

/** Work of so many slices, which notes whose slice ran. */
const work =
  (name: string, count: number, ran: string[]) =>
  (slices: Slices): MaybePromise<string> => {
    const working = forEachSliced(slices, Array.from({ length: count }), () => {
      ran.push(name)
      slices.left = 0
    })
    return working ? working.then(() => name) : name
  }

/** Turns of the event loop, written into the same list. */
function countTurns(ran: string[]): () => void {
  let isOn = true
  const turn = (): void => {
    ran.push('turn')
    if (isOn) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOn = false
  }
}

describe('work in slices', () => {
  test('what the first slice finishes is there at once, without a promise', () => {
    expect(inSlices(work('a', 0, []))).toBe('a')
  })

  test('what is longer gets whole slices, and gives its result in the end', async () => {
    const lefts: number[] = []
    const result = await inSlices(async (slices) => {
      await forEachSliced(slices, [1, 2, 3], () => {
        lefts.push(slices.left)
        slices.left = -1
      })
      return 'done'
    })
    expect(result).toBe('done')
    expect(lefts[0]).toBeLessThan(SLICE)
    expect(lefts.slice(1)).toEqual([SLICE, SLICE])
  })

  test('between two turns of the event loop one slice runs, whatever waits', async () => {
    const ran: string[] = []
    const started = ['a', 'b', 'c'].map((name) => inSlices(work(name, 20, ran)))
    const begun = ran.length
    const stop = countTurns(ran)
    await Promise.all(started)
    stop()
    const betweenTurns = ran.slice(begun).join(' ').split('turn')
    expect(betweenTurns.filter((names) => names.trim().split(' ').length > 1)).toEqual([])
  })

  test('where a crowd begins at once, the later ones begin with less', async () => {
    const firsts: number[] = []
    const begin = (): unknown =>
      inSlices((slices) => {
        firsts.push(slices.left)
        slices.left = 0
        return slices.next()
      })
    await Promise.all(Array.from({ length: 100 }, begin))
    expect(firsts.reduce((all, steps) => all + steps)).toBeLessThan(2 * SLICE)
    expect(Math.min(...firsts)).toBeGreaterThan(0)
    begin()
    expect(firsts.at(-1)).toBe(firsts[0])
  })

  test('what works on many documents takes a longer slice, of which there are few until somebody waits', async () => {
    const waited = (): unknown => inSlices(work('a', 2, []))
    await waited()
    const firsts = Array.from({ length: 100 }, () => takeFirstSlice(40))
    await waited()
    expect(firsts[0]).toBe(SLICE / 10)
    expect(firsts.reduce((all, steps) => all + steps)).toBeLessThan(2 * SLICE)
    expect(Math.min(...firsts)).toBeGreaterThan(0)
    expect([takeFirstSlice(1), takeFirstSlice(1000)]).toEqual([500, SLICE / 4])
    await waited()
  })

  test('the steps of work that does not wait are counted', () => {
    const before = stepsTaken()
    inSlices((slices) => {
      slices.left -= 70
    })
    expect(stepsTaken() - before).toBe(70)
  })

  test('who has had least comes first: short work is done long before the endless', async () => {
    const ran: string[] = []
    const long = inSlices(work('long', 40, ran))
    const short = await inSlices(work('short', 3, ran))
    expect(short).toBe('short')
    expect(ran.filter((name) => name === 'long').length).toBeLessThan(8)
    await long
  })

  test('a signal ends it at its next pause, and what it holds is given free', async () => {
    const controller = new AbortController()
    let isFree = false
    const running = inSlices(
      async (slices) => {
        try {
          for (;;) await slices.next()
        } finally {
          isFree = true
        }
      },
      () => controller.signal,
    )
    const failed = expect(running).rejects.toThrow('enough')
    controller.abort(new Error('enough'))
    await failed
    expect(isFree).toBe(true)
  })

  test('what it throws is the answer, and others go on', async () => {
    const ran: string[] = []
    const broken = inSlices(async (slices) => {
      await slices.next()
      throw new Error('broken')
    })
    const other = inSlices(work('other', 5, ran))
    await expect(broken).rejects.toThrow('broken')
    expect(await other).toBe('other')
  })

  test('a signal is asked for only by what has to wait', () => {
    inSlices(work('a', 0, []), () => {
      throw new Error('asked')
    })
  })
})

describe('a loop in slices', () => {
  test('returns no promise if it ends in its first slice', () => {
    expect(inSlices((slices) => mapSliced(slices, [1, 2, 3], (n) => n * 2))).toEqual([2, 4, 6])
  })

  test('never pauses in one slice', () => {
    const costly = inOneSlice((slices) =>
      mapSliced(slices, [1, 2], (n) => {
        slices.left -= 10 * SLICE
        return n
      }),
    )
    expect(costly).toEqual([1, 2])
  })

  test('pauses between items when a slice is used up, and keeps their order', async () => {
    const ran: string[] = []
    const stop = countTurns(ran)
    const loop = (name: string) =>
      inSlices((slices) =>
        forEachSliced(slices, [1, 2, 3], (n) => {
          ran.push(`${name}${n}`)
          slices.left = 0
        }),
      )
    await Promise.all([loop('a'), loop('b')])
    stop()
    // The first slices run immediately; then each turn of the event loop has one slice.
    expect(ran.filter((one) => one !== 'turn')).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    const betweenTurns = ran.slice(2).join(' ').split('turn')
    expect(betweenTurns.every((slices) => slices.trim().split(' ').length === 1)).toBe(true)
  })

  test('waits for an item before the next, also in loops within loops', async () => {
    const seen: string[] = []
    await inSlices((slices) =>
      forEachSliced(slices, ['a', 'b'], (name) =>
        forEachSliced(slices, [1, 2], async (n) => {
          await Promise.resolve()
          seen.push(`${name}${n}`)
        }),
      ),
    )
    expect(seen).toEqual(['a1', 'a2', 'b1', 'b2'])
  })

  test('ends at the next pause after its signal has aborted, and lets other work run', async () => {
    const abort = new AbortController()
    const visited: number[] = []
    const endless = inSlices(
      (slices) =>
        forEachSliced(slices, [1, 2, 3], (n) => {
          visited.push(n)
          slices.left = 0
          abort.abort(new Error('over'))
        }),
      () => abort.signal,
    )
    await expect(endless).rejects.toThrow('over')
    expect(visited).toEqual([1])
    expect(await inSlices((slices) => slices.next().then(() => 'done'))).toBe('done')
  })
})

describe('a loop that counts the steps of other functions', () => {
  const HUNDRED = Array.from({ length: 100 }, (_, i) => i)

  test('pauses when these steps and its own use up a slice', async () => {
    const ran: string[] = []
    const stop = countTurns(ran)
    await forEachCounted(HUNDRED, () => {
      inSlices((slices) => {
        slices.left -= 9000
      })
      ran.push('item')
      return 1000
    })
    stop()
    const pauses = ran.join(' ').split('turn item').length - 1
    expect(pauses).toBe(1 + Math.floor((100 * 10_000 - SLICE / 4) / SLICE))
  })

  test('does not count the steps of another such loop without end', async () => {
    const before = stepsTaken()
    const loops = Array.from({ length: 4 }, () => forEachCounted(HUNDRED, async () => 10))
    await Promise.all(loops)
    expect(stepsTaken() - before).toBe(4 * 100 * 10)
  })
})

describe('work that goes on slice by slice', () => {
  test('returns no promise if it is done at once', () => {
    expect(inSlices((slices) => untilDone(slices, () => true))).toBeUndefined()
  })

  test('gets a slice for each call', async () => {
    const lefts: number[] = []
    await inSlices((slices) =>
      untilDone(slices, () => {
        lefts.push(slices.left)
        return lefts.length === 3
      }),
    )
    expect(lefts.slice(1)).toEqual([SLICE, SLICE])
  })
})

describe('sorting in slices', () => {
  const items = Array.from({ length: 5000 }, (_, i) => ({ n: (i * 7919) % 613, place: i }))
  const expected = items.toSorted((a, b) => a.n - b.n)
  /** Compares by `n`, for so many steps. */
  const compare = (steps: number) => (a: { n: number }, b: { n: number }, slice: Slice) => {
    slice.left -= steps
    return a.n - b.n
  }

  test.each([0, 1, 2, 3, 7, 64, 1000])(
    '%d items are sorted at once, and equal ones keep their order',
    (count) => {
      const some = items.slice(0, count)
      const sorted = inOneSlice((slices) => sortSliced(slices, some, compare(1)))
      expect(sorted).toEqual(some.toSorted((a, b) => a.n - b.n))
    },
  )

  test('pauses between comparisons, and leaves the items as they were', async () => {
    const slices = new Slices(SLICE)
    let pauses = 0
    const next = slices.next.bind(slices)
    slices.next = () => {
      pauses += 1
      return next()
    }
    const before = [...items]
    expect(await sortSliced(slices, items, compare(100))).toEqual(expected)
    expect(items).toEqual(before)
    // About 55,000 comparisons, 2,000 in each slice.
    expect(pauses).toBeGreaterThan(20)
  })
})
