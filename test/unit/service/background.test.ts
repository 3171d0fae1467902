import { expect, test } from 'vitest'
import { createMemoryAdapter } from '../../../src/index.js'
import type { BackgroundScope } from '../../../src/service/call.js'
import { UNHURRIED } from '../../../src/service/deadline.js'
import { createBackground } from '../../../src/service/start/background.js'
import { createStore } from '../../../src/service/store.js'

// CONTRACT.md §4, "Delivery"

test('work behind answers is bounded in number, and the log says once that more is left out', async () => {
  const logged: string[] = []
  const note = (message: string): void => void logged.push(message)
  const scope: BackgroundScope = { deadline: UNHURRIED, store: createStore(createMemoryAdapter(), UNHURRIED) }
  const underWay: Promise<void>[] = []
  let tracked = 0
  const { begin } = createBackground({
    run: (work) => work(scope),
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
