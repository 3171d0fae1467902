import type { Slice, Sliced } from '../../../slices.js'
import type { WriteResult, WriteStep } from '../../../storage.js'
import { applySteps, type Suspects } from '../../sql/apply-steps.js'
import type { SqlEngine } from '../../sql/engine.js'
import { findTaken } from '../../sql/find-taken.js'
import type { Connection } from '../connection/connection.js'
import { drive } from '../connection/drive.js'

/** The steps of a write, and the engine that applies them. */
export interface WriteWork {
  readonly steps: readonly WriteStep[]
  readonly suspects: Suspects
  /** It records the write if its collections are logged. */
  readonly engine: SqlEngine
}

/** Applies steps in turn, inside a transaction that the caller rolls back if the result is not ok. */
export function* writeSteps(
  connection: Connection,
  { steps, suspects, engine }: WriteWork,
  slice: Slice,
): Sliced<WriteResult> {
  const isSpread = steps.some((step) => engine.isSpread?.(step.in) === true)
  const outcome = yield* drive(connection, applySteps(engine, steps, suspects), slice, isSpread)
  if (!('taken' in outcome)) return outcome
  const { taken } = outcome
  const fields = yield* drive(connection, findTaken(engine, taken), slice)
  return { ok: false, step: taken.step, reason: 'unique', fields }
}
