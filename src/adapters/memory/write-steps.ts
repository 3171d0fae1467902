import type { Filter } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import { freezeCopy, freezeNext } from '../../json/freeze-deep.js'
import { runAtOnce } from '../../slices.js'
import type { LogPlan, StoredDocument, WriteResult, WriteStep } from '../../storage.js'
import type { ChangeLog, Touched } from './log/change-log.js'
import type { Planner } from './plan/plan-scan.js'
import { walk } from './plan/walk.js'
import type { Rows } from './rows.js'

type FailedWrite = Extract<WriteResult, { readonly ok: false }>

/** A collection, its planner, and how its changes are recorded. */
export interface HeldCollection {
  readonly rows: Rows
  readonly plan: Planner
  readonly log: LogPlan | undefined
}

/** The effect of a step on a document. */
interface AppliedStep extends Omit<Touched, 'log'>, Pick<HeldCollection, 'rows' | 'log'> {}

const isLogged = (done: AppliedStep): done is AppliedStep & Touched => done.log !== undefined

/** Applies the steps in turn; if one fails, those before it are undone. */
export function writeSteps(
  steps: readonly WriteStep[],
  find: (name: string) => HeldCollection,
  log: ChangeLog,
  by: string | null,
): WriteResult {
  const done: AppliedStep[] = []
  for (const [i, step] of steps.entries()) {
    const refusal = applyStep(step, find(step.in), done)
    if (!refusal) continue
    for (const one of done.reverse()) takeBack(one)
    return { ok: false, step: i, ...refusal }
  }
  tidyAll(done)
  const touched = done.filter(isLogged)
  if (touched.length > 0) log.record(touched, by)
  return { ok: true, removed: done.filter(({ after }) => !after).length }
}

/** Tidies each collection once, because its documents usually follow each other. */
function tidyAll(done: readonly AppliedStep[]): void {
  let last: Rows | undefined
  for (const { rows } of done) {
    if (rows !== last) rows.tidy()
    last = rows
  }
}

function takeBack({ rows, before, after }: AppliedStep): void {
  if (before && after) rows.replace(before)
  else if (before) rows.insert(before)
  else if (after) rows.remove(after._id)
}

/** Applies one step. Returns the reason if it fails. */
function applyStep(
  step: WriteStep,
  { rows, plan, log }: HeldCollection,
  done: AppliedStep[],
): Pick<FailedWrite, 'reason' | 'fields'> | undefined {
  if ('insert' in step) {
    const document = freezeCopy(step.insert)
    if (rows.get(document._id)) return { reason: 'unique', fields: ['_id'] }
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.insert(document)
    done.push({ in: step.in, before: null, after: document, log, rows })
    return undefined
  }
  if ('replace' in step) {
    const before = rows.get(step.replace._id)?.document
    if (before?._version !== step.version) return { reason: 'changed' }
    const document = freezeNext(step.replace, before)
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.replace(document)
    done.push({ in: step.in, before, after: document, log, rows })
    return undefined
  }
  if ('remove' in step) {
    const found = findMatching(plan, step.remove)
    if (step.expect !== undefined && step.expect !== found.length) return { reason: 'changed' }
    for (const document of found) {
      rows.remove(document._id)
      done.push({ in: step.in, before: document, after: null, log, rows })
    }
    return undefined
  }
  if ('require' in step) {
    const document = rows.get(step.require)?.document
    if (!document) return { reason: 'missing' }
    const isAsRequired =
      (step.version ?? document._version) === document._version &&
      (step.where === undefined || compileFilter(step.where)(document))
    return isAsRequired ? undefined : { reason: 'changed' }
  }
  return findMatching(plan, step.refuse).length > 0 ? { reason: 'found' } : undefined
}

function findMatching(plan: Planner, filter: Filter): readonly StoredDocument[] {
  const found: StoredDocument[] = []
  const scan = plan(filter, [])
  runAtOnce((slice) => walk(scan, slice, (document) => found.push(document) > 0))
  return found
}

function findTaken(
  { unique }: Rows,
  document: StoredDocument,
): Pick<FailedWrite, 'reason' | 'fields'> | undefined {
  const index = unique.find((candidate) => candidate.findConflict(document) !== undefined)
  return index && { reason: 'unique', fields: index.fields.map(({ path }) => path) }
}
