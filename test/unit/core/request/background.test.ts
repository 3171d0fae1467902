import { expect, test } from 'vitest'
import { createStores } from '../../../../src/core/request/store.js'
import { createBackground } from '../../../../src/core/start/background.js'
import { createMemoryAdapter } from '../../../../src/index.js'

// CONTRACT.md §4, "Delivery"

/** What runs works, and what became of them. */
function setUp() {
  const logged: string[] = []
  const note = (message: string): void => void logged.push(message)
  const underWay: Promise<void>[] = []
  const { begin } = createBackground({
    createStore: createStores(createMemoryAdapter()),
    seconds: 60,
    track: () => () => {},
    logger: { info: note, warn: note, error: note },
    tell: (work) => void underWay.push(work),
  })
  return { begin, logged, underWay }
}

test('the works of a line run one after another; beyond four they are left out in silence', async () => {
  const { begin, logged, underWay } = setUp()
  const seen: string[] = []
  const work = (name: string) => async (): Promise<void> => {
    seen.push(`${name} begins`)
    // Longer than it takes the timers of all lines to fire.
    await new Promise((resolve) => setTimeout(resolve, 20))
    seen.push(`${name} ends`)
    if (name === 'a1') throw new Error('lost')
  }
  for (let i = 0; i < 9; i++) begin(work(`a${i}`), 'a')
  begin(work('b'), 'b')
  begin(work('alone'))
  await Promise.all(underWay)
  const ofA = seen.filter((one) => one.startsWith('a') && !one.startsWith('alone'))
  expect(ofA).toEqual([0, 1, 2, 3].flatMap((i) => [`a${i} begins`, `a${i} ends`]))
  expect(seen.indexOf('b begins')).toBeLessThan(seen.indexOf('a1 begins'))
  expect([seen.length, logged]).toEqual([12, ['background work failed']])
  begin(work('later'), 'a')
  await Promise.all(underWay)
  expect(seen.at(-1)).toBe('later ends')
})

test('work behind answers is bounded in number, and the log says once that more is left out', async () => {
  const logged: string[] = []
  const note = (message: string): void => void logged.push(message)
  const underWay: Promise<void>[] = []
  let tracked = 0
  const { begin } = createBackground({
    createStore: createStores(createMemoryAdapter()),
    seconds: 60,
    track: () => {
      tracked += 1
      return () => {
        tracked -= 1
      }
    },
    logger: { info: note, warn: note, error: note },
    tell: (work) => void underWay.push(work),
  })
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let begun = 0
  const work = (): Promise<void> => {
    begun += 1
    return released
  }
  for (let i = 0; i < 1005; i++) begin(work)
  expect([begun, tracked]).toEqual([0, 1000])
  release()
  await Promise.all(underWay)
  expect([begun, tracked, logged.length]).toEqual([1000, 0, 1])
  begin(work)
  await Promise.all(underWay)
  expect([begun, tracked, logged.length]).toEqual([1001, 0, 1])
})
