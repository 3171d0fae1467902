import { createMemoryAdapter } from '../../adapters/memory/memory-adapter.js'
import { compileField } from '../../core/filter/compare.js'
import { and, type Filter, ID, isId } from '../../core/filter/filter.js'
import { compileFilter } from '../../core/filter/matches.js'
import { compareText } from '../../core/json/compare-text.js'
import type { WriteFailure } from '../../core/request/store/attempt.js'
import type {
  CollectionPlan,
  ListQuery,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../core/storage.js'

/**
 * Opens a storage whose writes stay in memory, above the documents of `base`, so that a dry run does what a run would do,
 * uniqueness included. `plans` are those of the run, by stored names. Creates nothing in `base`: a collection that it lacks
 * has no documents. A write must not require what a later step of the same write changes.
 */
export async function openDryStorage(
  base: StorageAdapter,
  plans: readonly CollectionPlan[],
): Promise<StorageAdapter> {
  const existing = await findExisting(base, plans)
  const changed = createMemoryAdapter()
  await changed.open(plans.map(({ name, indexes }) => ({ name, indexes })))
  const byName = new Map(plans.map((plan) => [plan.name, plan]))
  /** The `_id`s of the documents that are no longer as they are in `base`. */
  const touched = new Map(plans.map(({ name }) => [name, new Set<string>()]))
  const touchedIn = (name: string): ReadonlySet<string> => touched.get(name) ?? new Set()

  /** Lists the documents of `base` that are not touched. `end` is the last `_id` if there may be more. */
  const listBase = async (name: string, query: ListQuery) => {
    if (!existing.has(name)) return { documents: [], end: undefined }
    const found = await base.list(name, query)
    const isFull = found.length === query.limit || (found.rest?.length ?? 0) > 0
    const documents = found.filter(({ _id }) => !touchedIn(name).has(_id))
    return { documents, end: isFull ? found.at(-1)?._id : undefined }
  }
  const list = async (name: string, query: ListQuery): Promise<readonly StoredDocument[]> => {
    const { bytes: _, ...others } = query
    const [key] = query.sort
    for (let asked = query; ; ) {
      const { documents, end } = await listBase(name, asked)
      const own = await changed.list(name, { ...others, filter: asked.filter })
      // Documents after the last one of a page belong to a later page.
      const shown =
        end === undefined || !key || key.descending
          ? own
          : own.filter(({ _id }) => compareText(_id, end) <= 0)
      const all = [...documents, ...shown].sort(
        (a, b) => compareText(a._id, b._id) * (key?.descending ? -1 : 1),
      )
      if (all.length > 0 || end === undefined) return all.slice(0, query.limit ?? undefined)
      asked = { ...asked, filter: and([asked.filter, { kind: 'gt', field: ID, value: end }]) }
    }
  }
  const listAll = (name: string, filter: Filter): Promise<readonly StoredDocument[]> =>
    list(name, { filter, sort: [], skip: 0, limit: null })

  /** Finds the first step whose document has values of a unique index that a document of `base` has. */
  const findTaken = async (steps: readonly WriteStep[]): Promise<WriteFailure | undefined> => {
    const written = writtenBy(steps)
    for (const [i, step] of steps.entries()) {
      const document = documentOf(step)
      if (!document) continue
      const isGone = ({ _id }: StoredDocument): boolean => written.has(keyOf(step.in, _id))
      if ('insert' in step && (await listBase(step.in, BY_ID(document._id))).documents.length > 0)
        return { ok: false, step: i, reason: 'unique', fields: ['_id'] }
      for (const { unique, fields } of byName.get(step.in)?.indexes ?? []) {
        const filter = unique ? equalIn(fields, document) : undefined
        if (!filter) continue
        const { documents } = await listBase(step.in, { filter, sort: [], skip: 0, limit: null })
        if (!documents.every(isGone))
          return { ok: false, step: i, reason: 'unique', fields: fields.map(({ path }) => path) }
      }
    }
    return undefined
  }
  /** Finds the first condition that does not hold after the write. */
  const findBroken = async (steps: readonly WriteStep[]): Promise<WriteFailure | undefined> => {
    const written = writtenBy(steps)
    const after = steps.flatMap((step) => {
      const document = documentOf(step)
      return document ? [{ in: step.in, document }] : []
    })
    /** Lists the documents that match once the write has taken effect. */
    const listAfter = async (name: string, filter: Filter): Promise<readonly StoredDocument[]> => {
      const matches = compileFilter(filter)
      const others = await listAll(name, filter)
      return [
        ...others.filter(({ _id }) => !written.has(keyOf(name, _id))),
        ...after.flatMap((one) => (one.in === name && matches(one.document) ? [one.document] : [])),
      ]
    }
    for (const [i, step] of steps.entries()) {
      if ('refuse' in step && (await listAfter(step.in, step.refuse)).length > 0)
        return { ok: false, step: i, reason: 'found' }
      if (!('require' in step) || step.version !== undefined) continue
      const [found] = await listAfter(step.in, isId(step.require))
      if (!found) return { ok: false, step: i, reason: 'missing' }
      if (step.where && !compileFilter(step.where)(found)) return { ok: false, step: i, reason: 'changed' }
    }
    return undefined
  }
  const write = async (steps: readonly WriteStep[]): Promise<WriteResult> => {
    const taken = await findTaken(steps)
    const changes = steps.flatMap((step, i) => {
      if ('require' in step || 'refuse' in step) return []
      if (!('replace' in step) || touchedIn(step.in).has(step.replace._id)) return [{ i, step }]
      return [{ i, step: { in: step.in, insert: step.replace } }]
    })
    const before = taken ? changes.filter(({ i }) => i < taken.step) : changes
    const broken = taken ?? (await findBroken(steps))
    // The last step fails, so that nothing is kept of a write that is rejected.
    const tried: readonly WriteStep[] = [
      ...before.map(({ step }) => ('remove' in step ? { in: step.in, remove: step.remove } : step)),
      ...(broken ? [{ in: plans[0]?.name ?? '', require: '' }] : []),
    ]
    const result = await changed.write(tried, {})
    if (!result.ok) {
      const failed = before[result.step]
      return broken && !failed ? broken : { ...result, step: failed?.i ?? result.step }
    }
    for (const key of writtenBy(steps)) {
      const [name = '', id = ''] = key.split('/')
      touched.get(name)?.add(id)
    }
    return result
  }
  return {
    async open() {},
    list,
    count: async (name, filter) => (await listAll(name, filter)).length,
    write,
    async close() {},
  }
}

const BY_ID = (id: string): ListQuery => ({ filter: isId(id), sort: [], skip: 0, limit: 1 })

const keyOf = (name: string, id: string): string => `${name}/${id}`

const documentOf = (step: WriteStep): StoredDocument | undefined =>
  'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined

/** Returns the keys of the documents that steps create, change or remove. A `remove` of a run names one `_id`. */
const writtenBy = (steps: readonly WriteStep[]): ReadonlySet<string> =>
  new Set(
    steps.flatMap((step) => {
      const id =
        documentOf(step)?._id ??
        ('remove' in step && step.remove.kind === 'eq' ? String(step.remove.value) : undefined)
      return id === undefined ? [] : [keyOf(step.in, id)]
    }),
  )

/** Returns the names of the planned collections that a storage has. */
async function findExisting(
  base: StorageAdapter,
  plans: readonly CollectionPlan[],
): Promise<ReadonlySet<string>> {
  await base.open([])
  const snapshot = await base.snapshot?.()
  if (!snapshot) return new Set(plans.map(({ name }) => name))
  try {
    return new Set(await snapshot.collections())
  } finally {
    await snapshot.close()
  }
}

/** Returns the filter for the values of a document in an index; `undefined` if the index does not cover the document. */
function equalIn(
  fields: CollectionPlan['indexes'][number]['fields'],
  document: StoredDocument,
): Filter | undefined {
  const equal = fields.map((field): Filter | undefined => {
    const value = compileField(field)(document)
    return value === undefined || value === null ? undefined : { kind: 'eq', field, value }
  })
  return equal.some((one) => one === undefined) ? undefined : and(equal.flatMap((one) => one ?? []))
}
