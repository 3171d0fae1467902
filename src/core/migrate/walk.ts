import { afterId, BY_ID } from '../filter/after-id.js'
import { and, everything, ID, isId, or } from '../filter/filter.js'
import { sleep } from '../promises.js'
import type { WriteFailure } from '../request/store/attempt.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'
import type { Fixed, Wrong } from './fix.js'
import type { Turn } from './turn.js'

/** The maximum number of documents, and of characters of JSON, of one write. One document may need more. */
const MOST_DOCUMENTS = 20
const MOST_CHARACTERS = 1024 * 1024

/** The storage during a run, by declared names. */
export type RunStorage = Pick<StorageAdapter, 'list' | 'count' | 'write'>

/** The part of a collection through which a walk leads: the documents after `after`, up to `last`. */
export interface Stretch {
  readonly after: string
  readonly last: string
}

/** The input of a walk through a collection. */
export interface Walk {
  readonly adapter: RunStorage
  readonly turn: Turn
  readonly collection: string
  readonly signal: AbortSignal
  /** Whether nothing is stored: then each document is written by itself, and the walk does not rest. */
  readonly isDry: boolean
  /** Returns what a document needs. Called again if another process has changed the document meanwhile. */
  fix(document: StoredDocument): MaybePromise<Fixed>
  /** Returns the steps that take effect together with those of some documents, before them. Default: none. */
  beside?(written: readonly Fixed[], after: string): readonly WriteStep[]
  /** Returns the reason why the steps of a document failed. */
  explain(fixed: Fixed, failure: WriteFailure): Wrong
  /** Called after each write, with the documents that it changed. */
  onWritten(written: readonly Fixed[]): void
  /** Called with a document that could not be changed. */
  onFailed(fixed: Fixed, wrong: Wrong): void
  /** Whether the walk ends, although documents are left. Asked after each write. */
  isOver?(): boolean
}

/** Another runner has taken the turn: it may have changed any document since. */
export class TurnLost extends Error {}

/** Returns the highest `_id` of a collection; `undefined` if it has no documents. */
export async function findLast(adapter: RunStorage, collection: string): Promise<string | undefined> {
  const sort = BY_ID.map((key) => ({ ...key, descending: true }))
  const [last] = await adapter.list(collection, { filter: everything, sort, skip: 0, limit: 1 })
  return last?._id
}

/**
 * Changes the documents of a collection, in the order of `_id`. A document that another process changes or removes
 * meanwhile is not overwritten. Rejects with `TurnLost` if another runner has taken the turn.
 */
export async function walk(given: Walk, { after: start, last }: Stretch): Promise<void> {
  const { adapter, collection, signal, turn } = given
  const toLast = { kind: 'lte', field: ID, value: last } as const
  const pace = createPace(given)
  for (let after = start; ; ) {
    signal.throwIfAborted()
    const { filter, ...page } = afterId(after)
    const documents = await adapter.list(collection, { ...page, filter: and([filter, toLast]) })
    const end = documents.at(-1)
    if (!end) return
    if (await changeAll(given, documents, pace)) return
    await turn.renew()
    after = end._id
  }
}

/** Changes the documents with these `_id`s, those that exist, once more. */
export async function walkAgain(given: Walk, ids: readonly string[], after: string): Promise<void> {
  const { adapter, collection, beside } = given
  const pace = createPace(given)
  for (let i = 0; i < ids.length; i += MOST_DOCUMENTS) {
    const filter = or(ids.slice(i, i + MOST_DOCUMENTS).map(isId))
    const documents = await adapter.list(collection, { filter, sort: BY_ID, skip: 0, limit: null })
    // The place stays where the walk has come to.
    await changeAll(
      beside ? { ...given, beside: (written) => beside(written, after) } : given,
      documents,
      pace,
    )
  }
}

/** Changes documents. Returns whether the walk is over. */
async function changeAll(
  given: Walk,
  documents: readonly StoredDocument[],
  pace: () => Promise<void>,
): Promise<boolean> {
  const { fix, onFailed, signal, isOver = () => false } = given
  const most = given.isDry ? 1 : MOST_DOCUMENTS
  let batch: Fixed[] = []
  let characters = 0
  let after = ''
  for (const document of documents) {
    if (isOver()) break
    const fixed = await fix(document)
    after = document._id
    if (fixed.wrong !== undefined) onFailed(fixed, fixed.wrong)
    else if (fixed.steps.length > 0) {
      batch.push(fixed)
      characters += sizeOf(fixed.steps)
    }
    if (batch.length < most && characters < MOST_CHARACTERS) continue
    await writeAll(given, batch, after)
    batch = []
    characters = 0
    await pace()
    signal.throwIfAborted()
  }
  await writeAll(given, batch, after)
  return isOver()
}

const sizeOf = (steps: readonly WriteStep[]): number =>
  steps.reduce((sum, step) => sum + JSON.stringify(step).length, 0)

/** Writes documents together, without those that cannot be written. `after` is the last `_id` that was looked at. */
async function writeAll(given: Walk, batch: readonly Fixed[], after: string): Promise<void> {
  const { turn, explain, onWritten, onFailed, beside = () => [] } = given
  let left = [...batch]
  while (left.length > 0) {
    const first = beside(left, after)
    const steps = [...first, ...left.flatMap((fixed) => fixed.steps)]
    const result = await turn.write(steps)
    if (!result) throw new TurnLost()
    if (result.ok) return onWritten(left)
    const failed = findFixed(left, result.step - first.length)
    if (!failed) throw new TurnLost()
    left = left.filter((fixed) => fixed !== failed.fixed)
    if (result.reason !== 'unique' && isOwn(failed)) left.push(...(await fixAgain(given, failed.fixed)))
    else onFailed(failed.fixed, explain(failed.fixed, { ...result, step: failed.step }))
  }
}

/** A step of a document: its index among those of the document. */
interface FailedStep {
  readonly fixed: Fixed
  readonly step: number
}

/** Whether a step fails because another process has changed or removed the document itself. */
function isOwn({ fixed: { before, steps }, step }: FailedStep): boolean {
  const failed = steps[step]
  return (
    failed !== undefined &&
    ('replace' in failed || ('require' in failed && failed.require === before._id && 'version' in failed))
  )
}

/** Finds the document of a step. */
function findFixed(all: readonly Fixed[], step: number): FailedStep | undefined {
  if (step < 0) return undefined
  let left = step
  for (const fixed of all) {
    if (left < fixed.steps.length) return { fixed, step: left }
    left -= fixed.steps.length
  }
  return undefined
}

/** Returns what a document needs after another process has changed it, if it needs anything. */
async function fixAgain(
  { adapter, collection, fix, onFailed }: Walk,
  { before }: Fixed,
): Promise<readonly Fixed[]> {
  const filter = isId(before._id)
  const [found] = await adapter.list(collection, { filter, sort: [], skip: 0, limit: 1 })
  if (!found) return []
  const fixed = await fix(found)
  if (fixed.wrong !== undefined) onFailed(fixed, fixed.wrong)
  return fixed.wrong === undefined && fixed.steps.length > 0 ? [fixed] : []
}

/** Returns a function that waits as long as the work since its last call took, so that other work is not slowed down. */
function createPace({ isDry, signal }: Walk): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (!isDry) await sleep(performance.now() - since, signal)
    since = performance.now()
  }
}
