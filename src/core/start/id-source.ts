import { v7 } from 'uuid'

/** The end of the counter of an id. The counter starts in the lower half of the range, so that it can grow. */
const COUNTER_END = 2 ** 32
/** The maximum bits of a random step, plus one: about 800 ids fit into a millisecond, more than are created in one. */
const STEP_BITS = 27

/**
 * Creates a source of UUIDs of version 7 that ascend in this process. Within a millisecond, and after the clock went
 * back, a counter grows by random steps (RFC 9562, section 6.2, "Monotonic Random"). All bit lengths of a step are
 * equally frequent, and the longest step dominates the sum. So two ids reveal little about the number of ids that were
 * created between them, for other callers or for rejected requests (CONTRACT.md §1, "System fields").
 */
export function createIdSource(now: () => number): () => string {
  let milliseconds = 0
  let counter = COUNTER_END
  const takeRandom = createRandomSource()
  const bytes = new Uint8Array(ID_BYTES)
  return () => {
    const time = Math.floor(now())
    // `v7` does not read the first ten bytes of `random`, so the counter uses some of them.
    const random = takeRandom()
    const [high = 0, middle = 0, low = 0, lowest = 0, length = 0] = random
    const drawn = ((high << 24) | (middle << 16) | (low << 8) | lowest) >>> 1
    counter += 1 + (drawn & ((1 << (length % STEP_BITS)) - 1))
    if (time > milliseconds || counter >= COUNTER_END) {
      milliseconds = Math.max(time, milliseconds + 1)
      counter = drawn
    }
    return print(v7({ msecs: milliseconds, seq: counter, random }, bytes))
  }
}

/** The offset of the digits of each byte in the text. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const DIGITS = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
const characters = Array.from('-'.repeat(36), (hyphen) => hyphen.charCodeAt(0))

/** Writes the text of an id. `uuid` concatenates twenty strings, which costs as much as the rest of an id. */
function print(bytes: Uint8Array): string {
  for (let i = 0; i < ID_BYTES; i++) {
    const [place = 0, byte = 0] = [PLACES[i], bytes[i]]
    characters[place] = DIGITS[byte >> 4] ?? 0
    characters[place + 1] = DIGITS[byte & 15] ?? 0
  }
  return String.fromCharCode(...characters)
}

/** The random bytes of one id. */
const ID_BYTES = 16
/** The number of ids whose random bytes one call generates, because a call costs as much as the rest of an id. */
const IDS = 256

function createRandomSource(): () => Uint8Array {
  const pool = new Uint8Array(ID_BYTES * IDS)
  const random = new Uint8Array(ID_BYTES)
  let used = pool.length
  return () => {
    // Filled here, because some runtimes do not allow it at load time.
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    for (let i = 0; i < ID_BYTES; i++) random[i] = pool[used++] ?? 0
    return random
  }
}
