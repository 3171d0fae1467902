import { and, type Filter, isId, or } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import type { StoredDocument, WriteStep } from '../../../storage.js'
import type { DatabaseWork, SqlEngine } from '../engine.js'
import { pinnedIds } from '../pinned-ids.js'
import { nameDocuments } from './name-documents.js'

/** The places of the evaluated `require` steps, and the first one that is not met. */
export interface HeldSteps {
  readonly places: ReadonlySet<number>
  readonly refused?: { readonly step: number; readonly reason: 'missing' | 'changed' }
}

/**
 * Locks the documents that steps name before any step is applied, in one order for all writes, and evaluates
 * `require` steps: ten thousand references then take few queries.
 */
export function* holdNamed(engine: SqlEngine, steps: readonly WriteStep[]): DatabaseWork<HeldSteps> {
  const { dialect, statements } = engine
  const versions = new Map<string, number | null>()
  for (const statement of statements.hold(nameDocuments(steps, dialect.hold)))
    for (const row of (yield statement).rows) {
      const [collection, id, version] = JSON.parse(String(row)) as [string, string, number | null]
      versions.set(keyOf(collection, id), version)
    }
  const { matching, ...held } = judgeRequired(steps, versions)
  const unmatched = matching.length === 0 ? undefined : yield* findUnmatched(engine, matching)
  return unmatched === undefined ? held : { ...held, refused: { step: unmatched, reason: 'changed' } }
}

const keyOf = (collection: string, id: string): string => `${collection} ${id}`

/** A document that must match a filter as it is stored. */
interface Matching {
  readonly place: number
  readonly collection: string
  readonly id: string
  readonly where: Filter
}

/** Evaluates each `require` by the steps before it. Documents that these may have removed must be queried in turn. */
function judgeRequired(
  steps: readonly WriteStep[],
  versions: Map<string, number | null>,
): HeldSteps & { readonly matching: readonly Matching[] } {
  const places = new Set<number>()
  const matching: Matching[] = []
  const written = new Map<string, StoredDocument>()
  // The keys of documents, or of whole collections.
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

/** The first place whose document does not match. The documents are locked, so they stay unchanged. */
function* findUnmatched(
  { statements }: SqlEngine,
  matching: readonly Matching[],
): DatabaseWork<number | undefined> {
  for (const { collection, byId } of joinMatching(matching)) {
    const filter = or(Array.from(byId.values(), ({ id, where }) => and([isId(id), where])))
    const query = { filter, sort: [], skip: 0, limit: null }
    const { text, values, isExact } = statements.ids(collection, query)
    const { rows } = yield isExact
      ? { text, values }
      : { ...statements.list(collection, query), judged: filter }
    for (const id of rows) byId.delete(String(id))
    const [first] = byId.values()
    if (first) return first.place
  }
  return undefined
}

/** The most conditions of one query. */
const MOST_MATCHING = 100

/** Documents of one query. Each occurs once, so that its `_id` tells which condition matched. */
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
