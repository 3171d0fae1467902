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
 * Whether so many rounds have to show what a generator covers: with seed 1, of which it is known, and in long runs. With any
 * seed, some rounds miss by chance what is rare.
 */
export const isEnough = (runs: number): boolean => runs >= 20 && (isLong || SEED === 1)

/** How often a random test has seen something in each round; infinite where `isEnough` is false. */
export const perRound = (seen: number, runs: number): number =>
  isEnough(runs) ? seen / runs : Number.POSITIVE_INFINITY
