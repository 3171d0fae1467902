import { createBcryptHasher } from '../../core/accounts/auth/hasher.js'
import type { Hasher } from '../../core/types/host.js'

/** The lowest cost of bcrypt. */
const TEST_COST = 4

/**
 * Creates a real but cheap hasher for tests: bcrypt at cost 4, about three milliseconds per hash. Not for
 * production.
 *
 * @example
 * ```ts
 * const service = createCollectionService(config, undefined, { hasher: createTestHasher() })
 * ```
 */
export const createTestHasher = (): Hasher => createBcryptHasher(TEST_COST)
