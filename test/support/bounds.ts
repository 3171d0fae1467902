import { afterAll, beforeAll } from 'vitest'
import { type Bounds, bounds, replaceBounds, SHIPPED } from '../../src/core/bounds.js'

/** What sizes are divided by, so that tests of large documents need none that are large. */
const SCALE = 32

const scaled = Object.fromEntries(
  Object.entries(SHIPPED).map(([name, size]) => [name, Math.ceil(size / SCALE)]),
) as unknown as Bounds

/** A KiB and a MiB, as sizes are in the tests of a file that uses smaller bounds. */
export const [KIB, MIB] = [1024 / SCALE, 1024 ** 2 / SCALE]

/** A number of bytes, characters or values, as it is there: a thirty-second of it. */
export const scale = (size: number): number => Math.round(size / SCALE)

/** All sizes of service and adapters are a thirty-second in the tests of a file, or of a `describe`. */
export function useSmallerBounds(): void {
  let before = bounds
  beforeAll(() => {
    before = bounds
    replaceBounds(scaled)
  })
  afterAll(() => replaceBounds(before))
}
