import { v7 } from 'uuid'

/** The end of the counter of an id, which begins in its lower half, so that it has room. */
const COUNTER_END = 2 ** 32
/** Steps have fewer bits than this: so some 800 ids have room in a millisecond, more than are made in one. */
const STEP_BITS = 27

/**
 * Creates a source of UUIDs of version 7 that ascend in this process: within a millisecond, and after the clock went back,
 * a counter goes on in random steps (RFC 9562, section 6.2, "Monotonic Random"). Steps of every length are as frequent, and
 * the longest outweighs the others: so of a few ids that were drawn between two, for somebody else or for what was refused,
 * these tell little (CONTRACT.md §1, "System fields").
 */
export function createIdSource(now: () => number): () => string {
  let milliseconds = 0
  let counter = COUNTER_END
  const takeRandom = createRandomSource()
  return () => {
    const time = Math.floor(now())
    // `v7` reads no bytes before the tenth.
    const random = takeRandom()
    const [high = 0, middle = 0, low = 0, lowest = 0, length = 0] = random
    const drawn = ((high << 24) | (middle << 16) | (low << 8) | lowest) >>> 1
    counter += 1 + (drawn & ((1 << (length % STEP_BITS)) - 1))
    if (time > milliseconds || counter >= COUNTER_END) {
      milliseconds = Math.max(time, milliseconds + 1)
      counter = drawn
    }
    return v7({ msecs: milliseconds, seq: counter, random })
  }
}

/** The random bytes of one id. */
const ID_BYTES = 16
/** The ids whose random bytes are asked for at once: asking costs as much as the rest of an id. */
const IDS = 256

function createRandomSource(): () => Uint8Array {
  const pool = new Uint8Array(ID_BYTES * IDS)
  let used = pool.length
  return () => {
    // Not at load time: some runtimes do not allow it there.
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    used += ID_BYTES
    return pool.subarray(used - ID_BYTES, used)
  }
}
