import { ANY, FUNCTION, requireOptions } from '../../../core/options.js'
import { type AdapterCase, runCase, type TestStorage } from './adapter-case.js'
import { adapterCases } from './adapter-cases.js'
import { type FuzzCoverage, type FuzzOptions, fuzzAdapter } from './fuzz/fuzz-adapter.js'
import { fuzzGroups } from './fuzz/fuzz-groups.js'

/** The name of a case that an adapter cannot pass, and the reason. */
export interface SkippedCase {
  readonly case: string
  readonly reason: string
}

/** The options of `testAdapter`. */
export interface AdapterTestOptions {
  /**
   * The function `test` of any runner, such as node:test, vitest or Jest. If the storage is slow, the tests may need a
   * longer timeout than the runner's default.
   */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** Creates a new, empty storage for each test. */
  readonly createStorage: () => Promise<TestStorage>
  /** Cases that do not run. Each is registered with a name that marks it as skipped. An unknown name throws. */
  readonly skip?: readonly SkippedCase[]
  /** The number of random stores and queries, and their seed. `report` receives the coverage. */
  readonly fuzz?: FuzzOptions & { readonly report?: (coverage: FuzzCoverage) => void }
}

/** The name of the case that groups documents at random. */
export const GROUPS_CASE = 'fuzz: random groups are those of a plain array'

/** The share of the queries of a store that are also drawn for groups. */
const GROUPED = 0.5
const QUERIES = 100

/** The name of the case that runs random queries. */
export const FUZZ_CASE = 'fuzz: random queries are answered as a plain array would'

/**
 * Registers one test for each requirement for a storage adapter. Throws an `Error` if `skip` contains an unknown name,
 * and a `ConfigError` for an unknown option.
 *
 * @example
 * ```ts
 * testAdapter({
 *   test,
 *   createStorage: async () => {
 *     const adapter = createMyAdapter()
 *     return { connect: () => adapter }
 *   },
 * })
 * ```
 */
export function testAdapter(options: AdapterTestOptions): void {
  requireOptions(options, { test: FUNCTION, createStorage: FUNCTION, skip: ANY, fuzz: ANY })
  const { test, createStorage, skip = [], fuzz = {} } = options
  const { report, ...amount } = fuzz
  const fuzzCase = {
    name: FUZZ_CASE,
    async run(): Promise<void> {
      const coverage = await fuzzAdapter(createStorage, amount)
      report?.(coverage)
    },
  }
  const groupsCase = {
    name: GROUPS_CASE,
    run: () =>
      fuzzGroups(createStorage, { ...amount, queries: Math.ceil((amount.queries ?? QUERIES) * GROUPED) }),
  }
  const cases = adapterCases.map((one: AdapterCase) => ({
    name: one.name,
    run: () => runCase(one, createStorage),
  }))
  const all = [...cases, fuzzCase, groupsCase]
  const reasons = new Map(skip.map((skipped) => [skipped.case, skipped.reason]))
  for (const name of reasons.keys()) {
    if (!all.some((one) => one.name === name))
      throw new Error(`skip names a case that does not exist: ${JSON.stringify(name)}`)
  }
  for (const { name, run } of all) {
    const reason = reasons.get(name)
    if (reason === undefined) test(name, run)
    else test(`${name} (skipped: ${reason})`, async () => {})
  }
}
