import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type {
  IndexPlan,
  Linked,
  LinkedFound,
  LinkedList,
  StorageAdapter,
  StoredDocument,
} from '../../../core/storage.js'
import type { SqlDialect, Value } from '../../sql/dialect.js'
import type { SqlEngine } from '../../sql/engine.js'
import { isShort } from '../../sql/read/is-short.js'
import { createStatements } from '../../sql/statements.js'
import type { Connections } from '../connection/lease.js'
import { explained } from '../faults.js'
import { createAskTogether } from './ask-together.js'
import { nameList, writeList } from './page.js'

/** The dependencies of linked reads. */
interface LinkedSource {
  readonly engine: SqlEngine
  readonly use: Connections['use']
  readonly indexesOf: (collection: string) => readonly IndexPlan[]
}

/** The maximum size of a list in a shared read, and of each document in the list, in bytes. */
const [BYTES, SIZE] = [65_536, 16_384]

/** The maximum number of cached plans. */
const MAX_REMEMBERED = 64

interface Plan {
  readonly indexes: readonly (readonly IndexPlan[])[]
  readonly read: ReturnType<typeof createAskTogether<LinkedFound>>
}

/**
 * Creates the function that reads a document together with the lists that depend on one of its fields. Simultaneous
 * reads share one statement.
 */
export function createReadLinked(source: LinkedSource): Required<Pick<StorageAdapter, 'readLinked'>> {
  const plans = createBoundedMap<string, Plan>(CACHES.linkedPlans, MAX_REMEMBERED)

  return {
    async readLinked({ id, ...shape }, caller) {
      const key = JSON.stringify(shape)
      const indexes = shape.lists.map((list) => source.indexesOf(list.in))
      const known = plans.get(key)
      const isKnown = known?.indexes.every((some, i) => some === indexes[i])
      const { read } = known && isKnown ? known : { read: planLinked(source, shape) }
      if (!isKnown) plans.set(key, { indexes, read })
      return explained(read([id], caller))
    },
  }
}

function planLinked(
  source: LinkedSource,
  { in: collection, field, link, lists }: Omit<Linked, 'id'>,
): Plan['read'] {
  const { use, indexesOf } = source
  const { dialect } = source.engine
  const values: Value[] = []
  const columns = lists.map((list, i) => {
    const written =
      isShort(indexesOf(list.in), { ...list, sort: [], skip: 0 }) && writeLinked(dialect, list, link, values)
    return nameList(written || 'NULL', i)
  })
  const table = dialect.table(collection)
  const linked = dialect.value({ path: field, type: 'string', each: false })
  const rootOf = (id: string): string =>
    `SELECT document, ${linked} AS linked FROM ${table} WHERE _id = ${id}`
  const found = ['root.document::text', ...columns].join(', ')
  // A single read has a separate statement, because PostgreSQL plans a statement with an array parameter again for each
  // new array.
  const one = `SELECT ${found} FROM (${rootOf('$1::text')}) AS root`
  const several = `SELECT place, ${found} FROM unnest($1::text[]) WITH ORDINALITY AS asked (id, place) JOIN LATERAL (${rootOf('asked.id')}) AS root ON TRUE`
  return createAskTogether<LinkedFound>({
    async alone([id = ''], caller) {
      const [row] = await use(({ readRows }) => readRows(one, [id, ...values]), caller)
      return row ? parse(row) : NOTHING
    },
    async together(all, caller) {
      const ids = all.map(([id]) => String(id))
      const rows = await use(({ readRows }) => readRows(several, [ids, ...values]), caller)
      const byPlace = new Map(rows.map(([place, ...row]) => [Number(place) - 1, parse(row)]))
      return all.map((_, i) => byPlace.get(i) ?? NOTHING)
    },
  })
}

/**
 * Builds the subquery for a list whose filter only tests whether values equal the link; `undefined` for any other list.
 */
function writeLinked(
  dialect: SqlDialect,
  { in: collection, filter, limit }: LinkedList,
  link: string,
  values: Value[],
): string | undefined {
  const own: Value[] = []
  const parameter = (_: number, value: Value): string =>
    value === link ? 'root.linked' : dialect.parameter(1 + values.length + own.push(value), value)
  const { page } = createStatements({ ...dialect, parameter })
  const { text, isExact } = page(collection, { filter, sort: [], skip: 0, limit })
  const isPlain = own.every((value) => typeof value !== 'object' && !String(value).includes(link))
  if (!isExact || !isPlain || text.includes(link)) return undefined
  values.push(...own)
  return `(${writeList(text, String(BYTES), String(SIZE))})`
}

const NOTHING: LinkedFound = { document: undefined, lists: [] }

const parse = ([document, ...lists]: readonly (string | null | undefined)[]): LinkedFound => ({
  document: JSON.parse(String(document)) as StoredDocument,
  lists: lists.map((text) => (typeof text === 'string' ? (JSON.parse(text) as StoredDocument[]) : undefined)),
})
