/**
 * How much is tested: `quick` (`npm test`), `full` (`npm run test:full`, and a file by itself) or `long` (`npm run
 * test:long`). `test/tiers.ts` says which files each of them runs.
 */
export const TIER: string =
  (process.env.LONG ?? '') === '' ? ((process.env.TIER ?? '') === 'quick' ? 'quick' : 'full') : 'long'

export const isLong = TIER === 'long'
export const isQuick = TIER === 'quick'

/** The number of rounds of a random test: `npm test` plays a quarter of them. */
export const rounds = (full: number, long = full): number => {
  if (isLong) return long
  return isQuick ? Math.ceil(full / 4) : full
}

/** The number from which all that is random in tests follows; 1 where `test/vitest.config.ts` has set none. */
export const SEED = Number(process.env.SEED ?? 1)

/**
 * The seed of one test, from its own number: where `SEED` is 1, that number. Each test has its own number, so that tests of
 * the same generators do not all see the same.
 */
export const seedOf = (own: number): number => (own + SEED - 1) | 0

/**
 * How often a random test has seen something in each round, at most by chance: the upper bound of its rate (three standard
 * deviations of a Poisson distribution), so that a floor holds with any seed. 0 if it was never seen; infinite for so few
 * rounds that chance decides.
 */
export function perRound(seen: number, runs: number): number {
  if (runs < 20) return Number.POSITIVE_INFINITY
  return seen > 0 ? (seen + 4.5 + 3 * Math.sqrt(seen + 2.25)) / runs : 0
}

/** The most parts of a random test that `playUntilSeen` plays. */
const PARTS = 10

/**
 * Plays a random test, and plays further parts with other seeds until it has seen everything that its generator has to
 * cover: with any seed, the first part may miss by chance what is rare. Fails after ten parts. `npm test` plays the first part
 * and requires nothing of it.
 *
 * @param play plays a part, and adds its number to its seed.
 * @param listMissing what no part has seen so far.
 */
export async function playUntilSeen(
  play: (part: number) => Promise<void>,
  listMissing: () => readonly string[],
): Promise<void> {
  for (let part = 0; part < PARTS; part++) {
    await play(part)
    if (isQuick || listMissing().length === 0) return
  }
  throw new Error(`${PARTS} parts have never seen: ${listMissing().join(', ')}`)
}
