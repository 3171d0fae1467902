// A storage of your own: an array for each collection. createCollectionService(config, createArrayAdapter()) uses it;
// `testAdapter` of collection-service/testing says whether it is right.
import {
  compare,
  compileField,
  compileFilter,
  type Filter,
  type IndexPlan,
  type StorageAdapter,
  type StoredDocument,
  type WriteResult,
  type WriteStep,
} from 'collection-service'

type Documents = readonly StoredDocument[]
type Refusal = Omit<Extract<WriteResult, { ok: false }>, 'ok' | 'step'>

/** The first unique index by which another document has the same values. */
function findTaken(indexes: readonly IndexPlan[], documents: Documents, document: StoredDocument) {
  const taken = indexes.find(({ unique, fields }) => {
    const readers = fields.map(compileField)
    const values = readers.map((read) => read(document))
    // What lacks a value, or holds one of another type, is not bound.
    if (!unique || values.includes(undefined)) return false
    const isSame = (other: StoredDocument) => readers.every((read, i) => read(other) === values[i])
    return documents.some((other) => other._id !== document._id && isSame(other))
  })
  return taken && { reason: 'unique' as const, fields: taken.fields.map(({ path }) => path) }
}

/** What is left of a collection after a step, or why the step cannot be done. */
function applyStep(
  step: WriteStep,
  documents: Documents,
  indexes: readonly IndexPlan[],
): Documents | Refusal {
  const find = (id: string) => documents.find(({ _id }) => _id === id)
  const select = (filter: Filter) => documents.filter(compileFilter(filter))
  if ('insert' in step) {
    if (find(step.insert._id)) return { reason: 'unique', fields: ['_id'] }
    return findTaken(indexes, documents, step.insert) ?? [...documents, structuredClone(step.insert)]
  }
  if ('replace' in step) {
    const stored = find(step.replace._id)
    if (stored?._version !== step.version) return { reason: 'changed' }
    const replace = (document: StoredDocument) =>
      document === stored ? structuredClone(step.replace) : document
    return findTaken(indexes, documents, step.replace) ?? documents.map(replace)
  }
  if ('remove' in step) {
    const gone = new Set(select(step.remove))
    if (step.expect !== undefined && step.expect !== gone.size) return { reason: 'changed' }
    return documents.filter((document) => !gone.has(document))
  }
  if ('require' in step) {
    const { version, where } = step
    const stored = find(step.require)
    if (!stored) return { reason: 'missing' }
    const isAsRequired =
      (version ?? stored._version) === stored._version && (!where || compileFilter(where)(stored))
    return isAsRequired ? documents : { reason: 'changed' }
  }
  return select(step.refuse).length > 0 ? { reason: 'found' } : documents
}

/** A whole storage adapter: an array per collection. What filters, orders and types mean comes from the package. */
export function createArrayAdapter(): StorageAdapter {
  const indexes = new Map<string, readonly IndexPlan[]>()
  const data = new Map<string, Documents>()
  const read = (name: string): Documents => data.get(name) ?? []

  return {
    async open(plans) {
      for (const plan of plans) {
        for (const document of read(plan.name)) {
          const taken = findTaken(plan.indexes, read(plan.name), document)
          if (taken) throw new Error(`documents of ${plan.name} have the same ${taken.fields.join(' and ')}`)
        }
        indexes.set(plan.name, plan.indexes)
      }
    },
    async list(name, { filter, sort, skip, limit }) {
      const documents = read(name).filter(compileFilter(filter))
      const keys = sort.map(({ field, descending }) => ({ read: compileField(field), descending }))
      documents.sort((a, b) => {
        for (const { read, descending } of keys) {
          const order = compare(read(a), read(b))
          if (order !== 0) return descending ? -order : order
        }
        return 0
      })
      return structuredClone(documents.slice(skip, limit === null ? undefined : skip + limit))
    },
    async count(name, filter) {
      return read(name).filter(compileFilter(filter)).length
    },
    // Nothing is awaited in here, so nobody comes between the steps.
    async write(steps) {
      const changed = new Map<string, Documents>()
      let removed = 0
      for (const [i, step] of steps.entries()) {
        const documents = changed.get(step.in) ?? read(step.in)
        const left = applyStep(step, documents, indexes.get(step.in) ?? [])
        if ('reason' in left) return { ok: false, step: i, ...left }
        if ('remove' in step) removed += documents.length - left.length
        changed.set(step.in, left)
      }
      for (const [name, documents] of changed) data.set(name, documents)
      return { ok: true, removed }
    },
    async close() {},
  }
}
