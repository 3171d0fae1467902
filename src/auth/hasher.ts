import bcrypt from 'bcryptjs'
import type { Hasher } from '../types.js'
import { createWorkQueue, type WorkQueue } from './work-queue.js'

/** How many secrets may wait for their turn in this process. */
export const MAX_WAITING = 128

/** The hash of no secret. */
const decoyOf = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** bcrypt knows no less. */
const MIN_COST = 4

/** A hash that asks for more work than this would stall the process for minutes. */
export const MAX_COST = 15

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

/** One for the process: hashing two at once doubles the stalls of everything else. */
const queue = createWorkQueue(MAX_WAITING)

/** What computes bcrypt. */
export interface BcryptEngine {
  hash(secret: string, cost: number): Promise<string>
  compare(secret: string, hash: string): Promise<boolean>
}

/** A hasher that can also say what a hash of it looks like, without computing one. */
export interface BuiltInHasher extends Hasher {
  /** The hash of no secret, at this hasher's cost. */
  readonly decoy: string
}

/**
 * Hashes with bcrypt at `cost` (2^cost rounds), one secret at a time in the process. Rejects with `overloaded` when
 * more than 128 wait. The caller sees to it that a secret has at most 72 bytes and no NUL.
 */
export const createBcryptHasher = (cost: number): BuiltInHasher => createHasherOn(bcrypt, cost, queue)

/** The same on another engine, with a queue before it. */
export function createHasherOn(engine: BcryptEngine, cost: number, queue: WorkQueue): BuiltInHasher {
  const decoy = decoyOf(cost)
  return {
    hash: (secret, signal) => queue.run(() => engine.hash(secret, cost), signal),
    verify: (secret, hash, signal) =>
      queue.run(async () => {
        // A hash that cannot be read costs as much as one that can.
        const written = Number(BCRYPT.exec(hash)?.[1])
        const isReadable = written >= MIN_COST && written <= MAX_COST
        const isRight = await engine.compare(secret, isReadable ? hash : decoy)
        // A hash from when the cost was lower is made as dear as the others: each step doubles the rounds.
        for (let step = isReadable ? written : cost; step < cost; step++)
          await engine.compare(secret, decoyOf(step))
        return isRight && isReadable
      }, signal),
    decoy,
  }
}
