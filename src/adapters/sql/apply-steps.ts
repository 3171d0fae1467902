import { compare } from '../../core/filter/compare.js'
import { and, type Filter, isId, isNothing, or } from '../../core/filter/filter.js'
import { compileFilter } from '../../core/filter/matches.js'
import { inTurn, whenFailed, whenReady } from '../../core/promises.js'
import type { MaybePromise, StoredDocument, WriteResult, WriteStep } from '../../core/storage.js'
import { type LockUse, type SqlDialect, type Statement, USES } from './dialect.js'
import type { Ask, DatabaseWork, SqlEngine } from './engine.js'
import { pinnedIds } from './pinned-ids.js'
import type { NamedDocuments } from './statements.js'

/**
 * The maximum number of parts of a collection that are locked separately. All further documents form one more part,
 * which gets the strongest lock that any of them needs.
 */
const MOST_PARTS = 16

/**
 * Returns the documents to lock before any step is applied, ordered by collection and `_id`. Each document is locked
 * for the strongest use that a step makes of it. A single document that the steps only write needs no lock in advance.
 */
function nameDocuments(
  steps: readonly WriteStep[],
  { endings }: SqlDialect['hold'],
): readonly NamedDocuments[] {
  const lastLook = steps.findLastIndex(isLook)
  const named = new Map<string, Map<string, LockUse>>()
  let needsHolding = false
  for (const [place, step] of steps.entries()) {
    const isLookedBehind = place < lastLook
    const [use, ids] = useOf(step, isLookedBehind)
    if (ids.length === 0 || endings[use] === undefined) continue
    needsHolding ||= 'require' in step || ('replace' in step && isLookedBehind)
    const uses = named.get(step.in) ?? new Map<string, LockUse>()
    for (const id of ids) uses.set(id, strongerOf(uses.get(id) ?? use, use))
    named.set(step.in, uses)
  }
  const count = [...named.values()].reduce((sum, { size }) => sum + size, 0)
  if (count < 2 && !needsHolding) return []
  return [...named]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([collection, uses]) => partsOf(collection, uses, (use) => endings[use]))
}

/** Whether the result of a step depends on documents that the step does not name by `_id`. */
const isLook = (step: WriteStep): boolean =>
  'refuse' in step || ('remove' in step && pinnedIds(step.remove) === undefined)

/**
 * Returns how a step uses the documents that it names, and the `_id`s of these documents. `isLookedBehind`: whether a
 * later step searches for documents.
 */
function useOf(step: WriteStep, isLookedBehind: boolean): readonly [LockUse, readonly string[]] {
  if ('require' in step) {
    const isBare = step.version === undefined && step.where === undefined
    return [isBare ? 'require' : 'require state', [step.require]]
  }
  // If a later step searches for documents, the lock must also keep out writes that only require this document.
  if ('replace' in step) return [isLookedBehind ? 'remove' : 'replace', [step.replace._id]]
  return ['remove', ('remove' in step && pinnedIds(step.remove)) || []]
}

const strongerOf = (a: LockUse, b: LockUse): LockUse => (USES.indexOf(a) > USES.indexOf(b) ? a : b)

/**
 * Divides the documents of a collection into parts, in the order of `_id`. Neighbours that need the same lock are in
 * one part.
 */
function partsOf(
  collection: string,
  uses: ReadonlyMap<string, LockUse>,
  endingOf: (use: LockUse) => string | undefined,
): readonly NamedDocuments[] {
  const parts: { ids: string[]; use: LockUse }[] = []
  for (const [id, use] of [...uses].sort(([a], [b]) => compare(a, b))) {
    const last = parts.at(-1)
    if (last && (parts.length > MOST_PARTS || endingOf(last.use) === endingOf(use))) {
      last.ids.push(id)
      last.use = strongerOf(last.use, use)
    } else parts.push({ ids: [id], use })
  }
  return parts.map(({ ids, use }) => ({ collection, ids, use }))
}

/** The indexes of the `require` steps that were evaluated, and the first `require` step that failed. */
interface HeldSteps {
  readonly places: ReadonlySet<number>
  readonly refused?: { readonly step: number; readonly reason: 'missing' | 'changed' }
}

/**
 * Locks all documents that the steps name and evaluates the `require` steps, before any step is applied. Therefore even
 * ten thousand references need only a few queries. All writes lock in the same order, to avoid deadlocks.
 */
function holdNamed(engine: SqlEngine, ask: Ask, steps: readonly WriteStep[]): MaybePromise<HeldSteps> {
  const { dialect, statements } = engine
  const versions = new Map<string, number | null>()
  const hold = (statement: Statement): MaybePromise<void> =>
    whenReady(ask(statement), ({ rows }) => {
      for (const row of rows) {
        const [collection, id, version] = JSON.parse(String(row)) as [string, string, number | null]
        versions.set(keyOf(collection, id), version)
      }
    })
  return whenReady(inTurn(statements.hold(nameDocuments(steps, dialect.hold)), hold), () => {
    const { matching, ...held } = judgeRequired(steps, versions)
    return whenReady(findUnmatched(engine, ask, matching), (unmatched) =>
      unmatched === undefined ? held : { ...held, refused: { step: unmatched, reason: 'changed' } },
    )
  })
}

const keyOf = (collection: string, id: string): string => `${collection} ${id}`

/** A stored document that must match the filter of a `require` step. `place` is the index of the step. */
interface Matching {
  readonly place: number
  readonly collection: string
  readonly id: string
  readonly where: Filter
}

/**
 * Evaluates each `require` step on its document as the earlier steps leave it. If an earlier step may have removed
 * the document, the `require` step is not evaluated here, but when it is applied.
 */
function judgeRequired(
  steps: readonly WriteStep[],
  versions: Map<string, number | null>,
): HeldSteps & { readonly matching: readonly Matching[] } {
  const places = new Set<number>()
  const matching: Matching[] = []
  const written = new Map<string, StoredDocument>()
  // The keys of removed documents, and the collections from which a step may remove any document.
  const removed = new Set<string>()
  for (const [place, step] of steps.entries()) {
    const { in: collection } = step
    const refuse = (reason: 'missing' | 'changed') => ({ places, matching, refused: { step: place, reason } })
    if ('remove' in step) {
      const keys = pinnedIds(step.remove)?.map((id) => keyOf(collection, id)) ?? [collection]
      for (const key of keys) removed.add(key)
    } else if ('require' in step) {
      const { require: id, version, where } = step
      const key = keyOf(collection, id)
      if (removed.has(collection) || removed.has(key)) continue
      const document = written.get(key)
      const present = document ? document._version : versions.get(key)
      if (present === undefined) return refuse('missing')
      if ((version ?? present) !== present) return refuse('changed')
      if (where && !document) matching.push({ place, collection, id, where })
      else if (where && document && !compileFilter(where)(document)) return refuse('changed')
      places.add(place)
    } else {
      const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      if (document) written.set(keyOf(collection, document._id), document)
    }
  }
  return { places, matching }
}

/**
 * Returns the index of the first step whose document does not match. The documents are locked, so they cannot change
 * afterwards.
 */
const findUnmatched = (
  { statements }: SqlEngine,
  ask: Ask,
  matching: readonly Matching[],
): MaybePromise<number | undefined> =>
  inTurn(joinMatching(matching), ({ collection, byId }) => {
    const filter = or(Array.from(byId.values(), ({ id, where }) => and([isId(id), where])))
    const query = { filter, sort: [], skip: 0, limit: null }
    const { text, values, isExact } = statements.ids(collection, query)
    const asked = isExact ? { text, values } : { ...statements.list(collection, query), judged: filter }
    return whenReady(ask(asked), ({ rows }) => {
      for (const id of rows) byId.delete(String(id))
      const [first] = byId.values()
      return first?.place
    })
  })

/** The maximum number of conditions that one query evaluates. */
const MOST_MATCHING = 100

/**
 * The documents that one query evaluates. Each `_id` occurs once, so that a returned `_id` shows which condition
 * matched.
 */
interface Together {
  readonly collection: string
  readonly byId: Map<string, Matching>
}

function joinMatching(matching: readonly Matching[]): readonly Together[] {
  const questions: Together[] = []
  for (const one of matching) {
    const last = questions.at(-1)
    const fits = last?.collection === one.collection && !last.byId.has(one.id)
    if (last && fits && last.byId.size < MOST_MATCHING) last.byId.set(one.id, one)
    else questions.push({ collection: one.collection, byId: new Map([[one.id, one]]) })
  }
  return questions
}

/** A document that a unique index rejected. `findTaken` finds out which index it was. */
export interface TakenValue {
  readonly step: number
  readonly collection: string
  readonly document: StoredDocument
  /** Whether the step inserts the document, so that the taken value may be its `_id`. */
  readonly isNew: boolean
  /** The name of the index, or an empty string if the engine does not report it. */
  readonly index: string
}

/** The outcome of applying the steps. */
export type StepsOutcome = WriteResult | { readonly taken: TakenValue }

type FailureReason = Pick<Extract<WriteResult, { readonly ok: false }>, 'reason' | 'fields'>

/**
 * Returns the `_id`s of the only documents that can match the filter of a `refuse` step, or `undefined` if they are
 * unknown.
 */
export type Suspects = (step: WriteStep) => Iterable<string> | undefined

/** Whether a step may remove a document that an earlier step inserted, so that the document has no change to record. */
function mayVanish(steps: readonly WriteStep[]): boolean {
  const made = new Set<string>()
  return steps.some((step) => {
    if ('insert' in step) made.add(step.in)
    return 'remove' in step && made.has(step.in)
  })
}

/** Thrown if a statement of `SqlEngine.join` changed another number of documents. */
export class NotJoined extends Error {}

/** Applies steps one after another. The caller runs it in a transaction, and rolls back if the outcome is not ok. */
export const applySteps =
  (
    engine: SqlEngine,
    steps: readonly WriteStep[],
    suspects: Suspects = () => undefined,
  ): DatabaseWork<StepsOutcome> =>
  (ask) =>
    whenReady(holdNamed(engine, ask, steps), (held) => applyHeld(engine, ask, held, { steps, suspects }))

/** Applies steps after `holdNamed`. */
function applyHeld(
  engine: SqlEngine,
  ask: Ask,
  { places, refused }: HeldSteps,
  { steps, suspects }: { readonly steps: readonly WriteStep[]; readonly suspects: Suspects },
): MaybePromise<StepsOutcome> {
  const { join, recording } = engine
  const isHeld = (place: number): boolean => places.has(place)
  let removed = 0
  let next = 0
  const failing = inTurn(steps.entries(), ([i, step]): MaybePromise<StepsOutcome | undefined> => {
    if (i === refused?.step) return { ok: false, ...refused }
    if (i < next || isHeld(i)) return undefined
    const joined = join?.(steps, i, isHeld)
    if (joined) {
      next = joined.next
      return whenReady(ask(joined), ({ changed }) => {
        if (changed !== joined.count) throw new NotJoined()
        return undefined
      })
    }
    const toFailure = (outcome: number | FailureReason): StepsOutcome | undefined => {
      if (typeof outcome !== 'number') return { ok: false, step: i, ...outcome }
      removed += outcome
      return undefined
    }
    return whenFailed(
      () => whenReady(applyStep(engine, ask, step, suspects), toFailure),
      (thrown) => takenAt(i, step, engine.takenBy(thrown), thrown),
    )
  })
  const forget = recording && mayVanish(steps) ? [recording.forget] : []
  const done = (): StepsOutcome => ({ ok: true, removed })
  return whenReady(failing, (failed) => failed ?? whenReady(askAll(ask, forget), done))
}

/** Returns the outcome of a step that a unique index rejected. Throws any other error again. */
function takenAt(place: number, step: WriteStep, index: string | undefined, thrown: unknown): StepsOutcome {
  const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
  if (index === undefined || !document) throw thrown
  return { taken: { step: place, collection: step.in, document, isNew: 'insert' in step, index } }
}

/** Applies one step. Returns the number of documents that it removed, or why it failed. */
function applyStep(
  engine: SqlEngine,
  ask: Ask,
  step: WriteStep,
  suspects: Suspects,
): MaybePromise<number | FailureReason> {
  const { statements } = engine
  const recorder = engine.recording?.of(step.in)
  if ('insert' in step) {
    const inserts = recorder?.insert(step.insert) ?? [statements.insert(step.in, step.insert)]
    return whenReady(askAll(ask, inserts), () => 0)
  }
  if ('replace' in step) {
    const { in: collection, replace, version } = step
    const replaces = recorder?.replace(replace, version) ?? [statements.replace(collection, replace, version)]
    return whenReady(askAll(ask, replaces), (changed) => (changed === 1 ? 0 : { reason: 'changed' }))
  }
  if ('remove' in step) {
    return whenReady(isNothing(step.remove) ? 0 : remove(engine, ask, step), (removed) =>
      step.expect === undefined || step.expect === removed ? removed : { reason: 'changed' },
    )
  }
  if ('require' in step) {
    return whenReady(holdNamed(engine, ask, [step]), ({ refused }) =>
      refused ? { reason: refused.reason } : 0,
    )
  }
  if (isNothing(step.refuse)) return 0
  const known = suspects(step)
  const finding = inTurn(known ?? [undefined], (id) => {
    const filter = id === undefined ? step.refuse : and([isId(id), step.refuse])
    return whenReady(exists(engine, step.in, filter)(ask), (isFound) => isFound || undefined)
  })
  return whenReady(finding, (isFound) => (isFound ? { reason: 'found' } : 0))
}

/** Runs statements. Returns the number of rows that the last one changed. */
export function askAll(ask: Ask, statements: readonly Statement[]): MaybePromise<number> {
  let last = 0
  const asking = inTurn(statements, (statement) =>
    whenReady(ask(statement), ({ changed }) => {
      last = changed
    }),
  )
  return whenReady(asking, () => last)
}

type Removal = Extract<WriteStep, { readonly remove: Filter }>

/**
 * Removes the documents that match. If the collection has tables of elements, and the documents that may match are
 * known, each document is removed by a separate statement.
 */
function remove(engine: SqlEngine, ask: Ask, step: Removal): MaybePromise<number> {
  const naming = engine.isSpread?.(step.in) ? nameMatches(engine, ask, step) : undefined
  return whenReady(naming, (named = [step.remove]) => {
    let removed = 0
    const removing = inTurn(named, (filter) =>
      whenReady(removeTogether(engine, ask, step.in, filter), (count) => {
        removed += count
      }),
    )
    return whenReady(removing, () => removed)
  })
}

/** Returns a filter for each document that may match, or `undefined` if these documents are unknown. */
function nameMatches(
  { seek }: SqlEngine,
  ask: Ask,
  { in: collection, remove }: Removal,
): MaybePromise<readonly Filter[] | undefined> {
  const isNamed = remove.kind === 'or' && remove.filters.every((one) => one.kind === 'eq')
  const ids = isNamed ? pinnedIds(remove) : undefined
  if (ids) return Array.from(new Set(ids), isId)
  const sought = seek?.(collection, remove)
  return (
    sought &&
    whenReady(ask(sought.ids), ({ rows }) =>
      Array.from(new Set(rows.map(String)), (id) => and([isId(id), remove])),
    )
  )
}

function removeTogether(
  { statements, recording }: SqlEngine,
  ask: Ask,
  collection: string,
  remove: Filter,
): MaybePromise<number> {
  const recorder = recording?.of(collection)
  const removeBy = (removal: Statement): MaybePromise<number> =>
    askAll(ask, recorder?.remove(removal) ?? [removal])
  const { text, values, isExact } = statements.remove(collection, remove)
  if (isExact) return removeBy({ text, values })
  return whenReady(ask({ text, values, judged: remove }), ({ rows }) =>
    removeBy(statements.remove(collection, or(rows.map((id) => isId(String(id)))))),
  )
}

/** Finds out whether any document matches a filter. */
export const exists =
  ({ statements, seek }: SqlEngine, collection: string, filter: Filter): DatabaseWork<boolean> =>
  (ask) => {
    const sought = seek?.(collection, filter)
    const query = { filter, sort: [], skip: 0, limit: null }
    const { text, values, isExact } = sought?.isAnswered
      ? { ...sought.ids, isExact: true }
      : statements.list(collection, query)
    const asked = isExact ? { text: `${text} LIMIT 1`, values } : { text, values, judged: filter }
    return whenReady(ask(asked), ({ rows }) => rows.length > 0)
  }
