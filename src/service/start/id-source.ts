import { v7 } from 'uuid'

/**
 * Creates a source of UUIDs of version 7 that ascend in this process: within a millisecond, and after the
 * clock went back, a counter continues.
 */
export function createIdSource(now: () => number): () => string {
  let milliseconds = 0
  let sequence = 0
  const takeRandom = createRandomSource()
  return () => {
    const time = Math.floor(now())
    const random = takeRandom()
    if (time > milliseconds) {
      milliseconds = time
      // `v7` reads no bytes before the tenth. The highest bit is left free, so that the counter has room.
      sequence = random.subarray(0, 4).reduce((number, byte) => number * 256 + byte, 0) >>> 1
    } else if (sequence === 0xffff_ffff) {
      milliseconds += 1
      sequence = 0
    } else sequence += 1
    return v7({ msecs: milliseconds, seq: sequence, random })
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
