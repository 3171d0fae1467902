import { createBcryptHasher } from '../auth/hasher.js'
import type { Hasher } from '../types.js'

/** bcrypt's least. */
const TEST_COST = 4

/** A real but cheap hasher for tests: bcrypt at cost 4, some three milliseconds a hash. Not for production. */
export const createTestHasher = (): Hasher => createBcryptHasher(TEST_COST)
