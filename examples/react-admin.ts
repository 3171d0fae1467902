import { type Client, createClient, isClientError } from 'collection-service/client'
import { type DataProvider, type GetListParams, HttpError } from 'react-admin'

type Entries = Record<string, unknown>

const isEntries = (value: unknown): value is Entries => Object(value)?.constructor === Object
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A document as react-admin knows it. */
const toRecord = ({ _id, ...fields }: Entries) => ({ id: _id as string, ...fields })

/** Inputs named `address.city` or `views.$gte` make nested objects: `q` takes paths, and operators below them. */
function toFilter(filter: Entries, path = ''): Entries {
  return Object.assign(
    {},
    ...Object.entries(filter).map(([name, value]) => {
      const at = name === '$or' ? name : path + (name === 'id' ? '_id' : name)
      if (Array.isArray(value) && name !== '$or') return { [at]: { $in: value } }
      const isNested = isEntries(value) && !Object.keys(value).some((key) => key.startsWith('$'))
      return isNested ? toFilter(value, `${at}.`) : { [at]: value }
    }),
  )
}

/** A merge patch with what is new. Inside an object, a missing property was removed. */
function toPatch(data: Entries, previous: Entries, isInside = false): Entries {
  const patch: Entries = {}
  for (const [name, value] of Object.entries(data)) {
    const before = previous[name]
    if (isSame(value, before) || (!isInside && name === 'id')) continue
    patch[name] = isEntries(value) && isEntries(before) ? toPatch(value, before, true) : value
  }
  if (isInside) for (const name of Object.keys(previous)) if (!(name in data)) patch[name] = null
  return patch
}

/** Refusals as react-admin shows them: each fault at its input, or at the form. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (thrown) {
    if (!isClientError(thrown)) throw thrown
    const { detail, status, code, errors } = thrown
    const faults = errors.map(({ path, message }) => [path.slice(1).replaceAll('/', '.'), message] as const)
    const named = Object.fromEntries(faults.map(([name, message]) => [name || 'root.serverError', message]))
    throw new HttpError(detail, status, { code, ...(faults.length > 0 && { errors: named }) })
  }
}

const inParts = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

/**
 * A data provider of react-admin. `values` and `bulk` are those of the service's `limits`. `updateMany` and
 * `deleteMany` write up to `bulk` documents in one step, or none of them.
 */
export function createDataProvider(
  client: Client = createClient('/api'),
  { values = 100, bulk = 100 } = {},
): DataProvider {
  async function list(resource: string, { filter, sort, pagination }: GetListParams) {
    const notes = client.collection(resource)
    const q = toFilter(filter ?? {}) as never
    const { page = 1, perPage } = pagination ?? {}
    const order = sort?.field && {
      sort: { [sort.field === 'id' ? '_id' : sort.field]: sort.order === 'DESC' ? -1 : 1 },
    }
    const part = perPage && { limit: perPage, skip: (page - 1) * perPage }
    const [documents, total] = await Promise.all([
      notes.list({ q, ...order, ...part } as never),
      notes.count({ q }),
    ])
    return { data: documents.map(toRecord), total }
  }

  async function many(resource: string, ids: readonly unknown[]) {
    const records: Entries[] = []
    for (const $in of inParts([...new Set(ids.map(String))], values)) {
      const pages = client.collection(resource).pages({ q: { _id: { $in } } })
      for await (const page of pages) records.push(...page.map(toRecord))
    }
    return { data: records }
  }

  async function update(resource: string, id: string, data: Entries, previous: Entries = {}) {
    const notes = client.collection(resource)
    const patch = toPatch(data, previous)
    const stored = await notes.get(id)
    // What somebody else has changed meanwhile is not overwritten; other fields keep what they wrote.
    for (const name of Object.keys(patch))
      if (name in previous && !isSame((stored as Entries)[name], previous[name]))
        throw new HttpError('Somebody else has changed this', 412, { code: 'precondition_failed' })
    return { data: toRecord((await notes.update(stored, patch)) as Entries) }
  }

  async function writeAll(ids: readonly unknown[], build: (b: never, id: string) => unknown) {
    for (const part of inParts(ids.map(String), bulk))
      await client.batch((b) => part.map((id) => build(b as never, id)) as never)
    return { data: [...ids] }
  }

  type Writes = Record<string, { update(id: string, data: Entries): unknown; delete(id: string): unknown }>
  const provider = {
    getList: (resource: string, params: GetListParams) => refusing(list(resource, params)),
    getManyReference: (resource: string, params: GetListParams & { target: string; id: unknown }) =>
      refusing(list(resource, { ...params, filter: { ...params.filter, [params.target]: params.id } })),
    getOne: async (resource: string, { id }: { id: unknown }) => ({
      data: toRecord((await refusing(client.collection(resource).get(String(id)))) as Entries),
    }),
    getMany: (resource: string, { ids }: { ids: unknown[] }) => refusing(many(resource, ids)),
    create: async (resource: string, { data }: { data: Entries }) => ({
      data: toRecord((await refusing(client.collection(resource).create(data as never))) as Entries),
    }),
    update: (resource: string, asked: { id: unknown; data: Entries; previousData: Entries }) =>
      refusing(update(resource, String(asked.id), asked.data, asked.previousData)),
    updateMany: (resource: string, { ids, data }: { ids: unknown[]; data: Entries }) =>
      refusing(writeAll(ids, (b: Writes, id) => b[resource]?.update(id, data))),
    delete: async (resource: string, { id, previousData }: { id: unknown; previousData?: Entries }) => {
      await refusing(client.collection(resource).delete(String(id)))
      return { data: previousData ?? { id } }
    },
    deleteMany: (resource: string, { ids }: { ids: unknown[] }) =>
      refusing(writeAll(ids, (b: Writes, id) => b[resource]?.delete(id))),
  }
  // react-admin lets each call name its type of record; the service decides what a record is.
  return provider as unknown as DataProvider
}
