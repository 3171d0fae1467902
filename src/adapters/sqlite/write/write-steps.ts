import type { Slice, Sliced } from '../../../slices.js'
import type { WriteResult, WriteStep } from '../../../storage.js'
import { applySteps, type Suspects } from '../../sql/apply-steps.js'
import { findTaken } from '../../sql/find-taken.js'
import type { Recording } from '../../sql/log/recorder.js'
import type { Connection } from '../connection/connection.js'
import { drive } from '../connection/drive.js'
import { sqliteEngine } from '../sqlite-engine.js'

/** What a write does, and how it is recorded. */
export interface Work {
  readonly steps: readonly WriteStep[]
  readonly suspects: Suspects
  readonly recording: Recording | undefined
}

/** Applies steps in turn, inside a transaction that the caller rolls back where the result is not ok. */
export function* writeSteps(
  connection: Connection,
  { steps, suspects, recording }: Work,
  slice: Slice,
): Sliced<WriteResult> {
  const engine = recording ? { ...sqliteEngine, recording } : sqliteEngine
  const outcome = yield* drive(connection, applySteps(engine, steps, suspects), slice)
  if (!('taken' in outcome)) return outcome
  const { taken } = outcome
  const fields = yield* drive(connection, findTaken(sqliteEngine, taken), slice)
  return { ok: false, step: taken.step, reason: 'unique', fields }
}
