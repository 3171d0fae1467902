import { and, type Filter, isId, isNothing, or } from '../../filter/filter.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../storage.js'
import type { Statement } from './dialect.js'
import type { DatabaseWork, SqlEngine } from './engine.js'
import { holdNamed } from './hold/hold-named.js'
import { mayVanish, type Recorder } from './log/recorder.js'
import { pinnedIds } from './pinned-ids.js'

/** A unique index rejected the document of a step; `findTaken` finds the index. */
export interface TakenValue {
  readonly step: number
  readonly collection: string
  readonly document: StoredDocument
  /** Whether the step inserts, so that the `_id` may be taken. */
  readonly isNew: boolean
  /** The index, as far as the engine names it. */
  readonly index: string
}

/** The outcome of the steps. */
export type StepsOutcome = WriteResult | { readonly taken: TakenValue }

type FailureReason = Pick<Extract<WriteResult, { readonly ok: false }>, 'reason' | 'fields'>

/** The only documents that can match the filter of a `refuse` step, if they are known; otherwise `undefined`. */
export type Suspects = (step: WriteStep) => Iterable<string> | undefined

/** Applies steps in turn, inside a transaction that the caller rolls back if the outcome is not ok. */
export function* applySteps(
  engine: SqlEngine,
  steps: readonly WriteStep[],
  suspects: Suspects = () => undefined,
): DatabaseWork<StepsOutcome> {
  const { takenBy, insertMany } = engine
  const held = yield* holdNamed(engine, steps)
  const isHeld = (place: number): boolean => held.places.has(place)
  let removed = 0
  let next = 0
  for (const [i, step] of steps.entries()) {
    if (i === held.refused?.step) return { ok: false, ...held.refused }
    if (i < next || isHeld(i)) continue
    if (insertMany && 'insert' in step) {
      const inserts = insertMany(steps, i, isHeld)
      next = inserts.next
      yield inserts
      continue
    }
    try {
      const outcome = yield* applyStep(engine, step, suspects)
      if (typeof outcome !== 'number') return { ok: false, step: i, ...outcome }
      removed += outcome
    } catch (thrown) {
      const index = takenBy(thrown)
      const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      if (index === undefined || !document) throw thrown
      return { taken: { step: i, collection: step.in, document, isNew: 'insert' in step, index } }
    }
  }
  if (engine.recording && mayVanish(steps)) yield engine.recording.forget
  return { ok: true, removed }
}

/** Applies one step. Returns the number of documents that it removed, or why it failed. */
function* applyStep(
  engine: SqlEngine,
  step: WriteStep,
  suspects: Suspects,
): DatabaseWork<number | FailureReason> {
  const { statements } = engine
  const recorder = engine.recording?.of(step.in)
  if ('insert' in step) {
    if (recorder) yield* askAll(recorder.insert(step.insert))
    else yield statements.insert(step.in, step.insert)
    return 0
  }
  if ('replace' in step) {
    const changed = recorder
      ? yield* askAll(recorder.replace(step.replace, step.version))
      : (yield statements.replace(step.in, step.replace, step.version)).changed
    return changed === 1 ? 0 : { reason: 'changed' }
  }
  if ('remove' in step) {
    const removed = isNothing(step.remove) ? 0 : yield* remove(engine, recorder, step)
    return step.expect === undefined || step.expect === removed ? removed : { reason: 'changed' }
  }
  if ('require' in step) {
    const { refused } = yield* holdNamed(engine, [step])
    return refused ? { reason: refused.reason } : 0
  }
  if (isNothing(step.refuse)) return 0
  const known = suspects(step)
  for (const filter of known ? narrow(step.refuse, known) : [step.refuse])
    if (yield* exists(engine, step.in, filter)) return { reason: 'found' }
  return 0
}

/** Restricts a filter to one document after another. */
function* narrow(filter: Filter, ids: Iterable<string>): Iterable<Filter> {
  for (const id of ids) yield and([isId(id), filter])
}

/** Runs statements. Returns the number of rows that the last one changed. */
function* askAll(statements: readonly Statement[]): DatabaseWork<number> {
  let last = 0
  for (const statement of statements) last = (yield statement).changed
  return last
}

type Removal = Extract<WriteStep, { readonly remove: Filter }>

/** Removes matches. Documents with entries of elements are removed one by one, if the candidates are known. */
function* remove(engine: SqlEngine, recorder: Recorder | undefined, step: Removal): DatabaseWork<number> {
  const named = engine.isSpread?.(step.in) ? yield* nameMatches(engine, step) : undefined
  if (!named) return yield* removeTogether(engine, recorder, step)
  let removed = 0
  for (const remove of named) removed += yield* removeTogether(engine, recorder, { ...step, remove })
  return removed
}

/** A filter for each document that may match; `undefined` if the candidates are unknown. */
function* nameMatches(
  { seek }: SqlEngine,
  { in: collection, remove }: Removal,
): DatabaseWork<Iterable<Filter> | undefined> {
  const isNamed = remove.kind === 'or' && remove.filters.every((one) => one.kind === 'eq')
  const ids = isNamed ? pinnedIds(remove) : undefined
  if (ids) return Array.from(new Set(ids), isId)
  const sought = seek?.(collection, remove)
  if (!sought) return undefined
  const { rows } = yield sought.ids
  return Array.from(new Set(rows.map(String)), (id) => and([isId(id), remove]))
}

function* removeTogether(
  { statements }: SqlEngine,
  recorder: Recorder | undefined,
  { in: collection, remove }: Removal,
): DatabaseWork<number> {
  const { text, values, isExact } = statements.remove(collection, remove)
  const removal = { text, values }
  if (isExact) return recorder ? yield* askAll(recorder.remove(removal)) : (yield removal).changed
  const { rows } = yield { ...removal, judged: remove }
  const deletion = statements.remove(collection, or(rows.map((id) => isId(String(id)))))
  return recorder ? yield* askAll(recorder.remove(deletion)) : (yield deletion).changed
}

/** Whether any document matches. */
export function* exists(
  { statements, seek }: SqlEngine,
  collection: string,
  filter: Filter,
): DatabaseWork<boolean> {
  const sought = seek?.(collection, filter)
  if (sought?.isAnswered) {
    const { ids } = sought
    return (yield { text: `${ids.text} LIMIT 1`, values: ids.values }).rows.length > 0
  }
  const query = { filter, sort: [], skip: 0, limit: null }
  const { text, values, isExact } = statements.list(collection, query)
  const { rows } = yield isExact ? { text: `${text} LIMIT 1`, values } : { text, values, judged: filter }
  return rows.length > 0
}
