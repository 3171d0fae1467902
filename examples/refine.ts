import type { CrudFilter, DataProvider, GetListParams, HttpError } from '@refinedev/core'
import { createClient, isClientError } from 'collection-service/client'

type Entries = Record<string, unknown>

/** A document as refine knows it. */
const toRecord = ({ _id, ...fields }: Entries) => ({ id: _id as string, ...fields })
const nameOf = (field: string): string => (field === 'id' ? '_id' : field)
const literal = (text: unknown): string => String(text).replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
const anyCase = ($regex: string) => ({ $regex, $options: 'i' })

/** What the service has for each operator. It has none that negates a text search. */
const OPERATORS: Record<string, ((value: unknown) => Entries) | undefined> = {
  eq: ($eq) => ({ $eq }),
  ne: ($ne) => ({ $ne }),
  lt: ($lt) => ({ $lt }),
  gt: ($gt) => ({ $gt }),
  lte: ($lte) => ({ $lte }),
  gte: ($gte) => ({ $gte }),
  in: ($in) => ({ $in }),
  nin: ($nin) => ({ $nin }),
  null: () => ({ $exists: false }),
  nnull: () => ({ $exists: true }),
  between: (range) => {
    const [$gte, $lte] = range as readonly unknown[]
    return { $gte, $lte }
  },
  contains: (text) => anyCase(literal(text)),
  containss: (text) => ({ $regex: literal(text) }),
  startswith: (text) => anyCase(`^${literal(text)}`),
  startswiths: (text) => ({ $regex: `^${literal(text)}` }),
  endswith: (text) => anyCase(`${literal(text)}$`),
  endswiths: (text) => ({ $regex: `${literal(text)}$` }),
}

/** Adds conditions to others. Throws where one would take the place of another: none gets lost. */
function add(target: Entries, conditions: Entries): void {
  for (const [name, condition] of Object.entries(conditions)) {
    const present = target[name] as Entries | undefined
    if (present && (name.startsWith('$') || Object.keys(condition as Entries).some((key) => key in present)))
      throw new TypeError(`filters: ${name} has this condition already`)
    target[name] = present ? { ...present, ...(condition as Entries) } : condition
  }
}

function toFilter(filters: readonly CrudFilter[]): Entries {
  const q: Entries = {}
  for (const filter of filters) {
    if (filter.operator === 'and') add(q, toFilter(filter.value))
    else if (filter.operator === 'or') add(q, { $or: filter.value.map((one) => toFilter([one])) })
    else {
      const write = OPERATORS[filter.operator]
      if (!write || !('field' in filter)) throw new TypeError(`filters: no operator ${filter.operator}`)
      add(q, { [nameOf(filter.field)]: write(filter.value) })
    }
  }
  return q
}

/** Refusals as refine shows them: each fault at its field. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (thrown) {
    if (!isClientError(thrown)) throw thrown
    const { detail, status, code, errors: faults } = thrown
    const named = faults.map(({ path, message }) => [path.slice(1).replaceAll('/', '.'), message])
    const error: HttpError = { message: detail, statusCode: status, code, errors: Object.fromEntries(named) }
    throw Object.assign(new Error(detail), error)
  }
}

/** A data provider of refine. `values` is that of the service's `limits`. */
export function createDataProvider(
  url = '/api',
  client = createClient(url),
  { values = 100 } = {},
): DataProvider {
  async function all(resource: string, options: object) {
    const records: Entries[] = []
    const pages = client.collection(resource).pages(options)
    for await (const page of pages) records.push(...page.map(toRecord))
    return records
  }

  async function list({ resource, pagination, sorters = [], filters = [] }: GetListParams) {
    const notes = client.collection(resource)
    const q = toFilter(filters) as never
    const sort = Object.fromEntries(sorters.map(({ field, order }) => [nameOf(field), order]))
    const { currentPage = 1, pageSize = 10, mode = 'server' } = pagination ?? {}
    if (mode !== 'server') {
      const data = await all(resource, { q, sort })
      return { data, total: data.length }
    }
    const part = { limit: pageSize, skip: (currentPage - 1) * pageSize }
    const [documents, total] = await Promise.all([
      notes.list({ q, sort, ...part } as never),
      notes.count({ q }),
    ])
    return { data: documents.map(toRecord), total }
  }

  async function many(resource: string, ids: readonly unknown[]) {
    const texts = [...new Set(ids.map(String))]
    const records: Entries[] = []
    for (let i = 0; i < texts.length; i += values)
      records.push(...(await all(resource, { q: { _id: { $in: texts.slice(i, i + values) } } })))
    return { data: records }
  }

  const one = async (work: Promise<unknown>) => ({ data: toRecord((await refusing(work)) as Entries) })
  const provider = {
    getApiUrl: () => url,
    getList: (asked: GetListParams) => refusing(list(asked)),
    getMany: (asked: { resource: string; ids: unknown[] }) => refusing(many(asked.resource, asked.ids)),
    getOne: ({ resource, id }: { resource: string; id: unknown }) =>
      one(client.collection(resource).get(String(id))),
    create: ({ resource, variables }: { resource: string; variables: Entries }) =>
      one(client.collection(resource).create(variables as never)),
    // PATCH: what `variables` lacks keeps its value.
    update: ({ resource, id, variables }: { resource: string; id: unknown; variables: Entries }) =>
      one(client.collection(resource).update(String(id), variables as never)),
    async deleteOne({ resource, id }: { resource: string; id: unknown }) {
      await refusing(client.collection(resource).delete(String(id)))
      return { data: { id } }
    },
  }
  // refine lets each call name its type of record; the service decides what a record is.
  return provider as unknown as DataProvider
}
