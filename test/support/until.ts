import { expect } from 'vitest'

/** The clock of the machine, also where a test has put one of its own in its place. */
const wait = setTimeout

/** Waits until something holds, however long that takes within reason. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  what = String(holds),
  seconds = 300,
): Promise<void> {
  const end = performance.now() + seconds * 1000
  while (!(await holds())) {
    if (performance.now() > end) expect.fail(`still not after ${seconds} seconds: ${what}`)
    await new Promise((resolve) => wait(resolve, 10))
  }
}
