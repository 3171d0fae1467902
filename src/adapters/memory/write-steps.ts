import type { Filter } from '../../filter/filter.js'
import { compileFilter } from '../../filter/matches.js'
import { freezeCopy } from '../../json/freeze-deep.js'
import type { LogPlan, StoredDocument, WriteResult, WriteStep } from '../../storage.js'
import type { ChangeLog, Touched } from './log/change-log.js'
import type { Planner } from './plan/plan-scan.js'
import type { Rows } from './rows.js'

type Refusal = Extract<WriteResult, { readonly ok: false }>

/** A collection, where to look in it, and whether its changes are recorded. */
export interface Held {
  readonly rows: Rows
  readonly plan: Planner
  readonly log: LogPlan | undefined
}

/** What the steps so far have done. */
interface Progress {
  readonly undo: (() => void)[]
  /** What they did in logged collections. */
  readonly touched: Touched[]
}

/** Applies the steps in turn; if one fails, those before it are undone. */
export function writeSteps(
  steps: readonly WriteStep[],
  find: (name: string) => Held,
  log: ChangeLog,
): WriteResult {
  const progress: Progress = { undo: [], touched: [] }
  let removed = 0
  let applied = 0
  for (const step of steps) {
    const outcome = applyStep(step, find(step.in), progress)
    if (typeof outcome !== 'number') {
      for (const takeBack of progress.undo.reverse()) takeBack()
      return { ok: false, step: applied, ...outcome }
    }
    removed += outcome
    applied += 1
  }
  if (progress.touched.length > 0) log.record(progress.touched)
  return { ok: true, removed }
}

/** Applies one step. Gives the number of documents that it removed, or the reason of its failure. */
function applyStep(
  step: WriteStep,
  { rows, plan, log }: Held,
  { undo, touched }: Progress,
): number | Pick<Refusal, 'reason' | 'fields'> {
  if ('insert' in step) {
    const document = freezeCopy(step.insert)
    if (rows.get(document._id)) return { reason: 'unique', fields: ['_id'] }
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.insert(document)
    undo.push(() => rows.remove(document._id))
    if (log) touched.push({ in: step.in, before: null, after: document, log })
    return 0
  }
  if ('replace' in step) {
    const before = rows.get(step.replace._id)?.document
    if (before?._version !== step.version) return { reason: 'changed' }
    const document = freezeCopy(step.replace)
    const taken = findTaken(rows, document)
    if (taken) return taken
    rows.replace(document)
    undo.push(() => rows.replace(before))
    if (log) touched.push({ in: step.in, before, after: document, log })
    return 0
  }
  if ('remove' in step) {
    const doomed = findMatching(plan, step.remove)
    if (step.expect !== undefined && step.expect !== doomed.length) return { reason: 'changed' }
    for (const document of doomed) {
      rows.remove(document._id)
      undo.push(() => rows.insert(document))
      if (log) touched.push({ in: step.in, before: document, after: null, log })
    }
    return doomed.length
  }
  if ('require' in step) {
    const document = rows.get(step.require)?.document
    if (!document) return { reason: 'missing' }
    const isAsRequired =
      (step.version ?? document._version) === document._version &&
      (step.where === undefined || compileFilter(step.where)(document))
    return isAsRequired ? 0 : { reason: 'changed' }
  }
  return findMatching(plan, step.refuse).length > 0 ? { reason: 'found' } : 0
}

function findMatching(plan: Planner, filter: Filter): readonly StoredDocument[] {
  const { candidates, rest } = plan(filter, [])
  const matches = compileFilter(rest)
  const found: StoredDocument[] = []
  candidates.walk(0, (document) => {
    if (matches(document)) found.push(document)
    return true
  })
  return found
}

function findTaken(
  { unique }: Rows,
  document: StoredDocument,
): Pick<Refusal, 'reason' | 'fields'> | undefined {
  const index = unique.find((candidate) => candidate.findConflict(document) !== undefined)
  return index && { reason: 'unique', fields: index.fields.map(({ path }) => path) }
}
