import bcrypt from 'bcryptjs'
import type { Hasher } from '../types.js'
import { createWorkQueue } from './work-queue.js'

/** How many secrets may wait for their turn in this process. */
const MAX_WAITING = 128

/** The hash of no secret. */
const decoyOf = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** bcrypt knows no less. */
const MIN_COST = 4

/** A hash that asks for more work than this would stall the process for minutes. */
const MAX_COST = 15

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

/** One for the process: hashing two at once doubles the stalls of everything else. */
const queue = createWorkQueue(MAX_WAITING)

/** A hasher that can also say what a hash of it looks like, without computing one. */
export interface BuiltInHasher extends Hasher {
  /** The hash of no secret, at this hasher's cost. */
  readonly decoy: string
}

/**
 * Hashes with bcrypt at `cost` (2^cost rounds), one secret at a time in the process. Rejects with `overloaded` when
 * more than 128 wait. The caller sees to it that a secret has at most 72 bytes and no NUL.
 */
export function createBcryptHasher(cost: number): BuiltInHasher {
  const decoy = decoyOf(cost)
  return {
    hash: (secret, signal) => queue.run(() => bcrypt.hash(secret, cost), signal),
    verify: (secret, hash, signal) =>
      queue.run(async () => {
        // A hash that cannot be read costs as much as one that can.
        const written = Number(BCRYPT.exec(hash)?.[1])
        const isReadable = written >= MIN_COST && written <= MAX_COST
        const isRight = await bcrypt.compare(secret, isReadable ? hash : decoy)
        // A hash from when the cost was lower is made as dear as the others: each step doubles the rounds.
        for (let step = isReadable ? written : cost; step < cost; step++)
          await bcrypt.compare(secret, decoyOf(step))
        return isRight && isReadable
      }, signal),
    decoy,
  }
}
