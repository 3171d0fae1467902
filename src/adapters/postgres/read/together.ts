import { bounds } from '../../../core/bounds.js'
import { whenReady } from '../../../core/promises.js'
import type { ListedTogether, StorageAdapter, StoredDocument } from '../../../core/storage.js'
import type { Value } from '../../sql/dialect.js'
import { isShort } from '../../sql/read/is-short.js'
import { createStatements } from '../../sql/statements.js'
import { explained } from '../faults.js'
import { nameList, writeList } from './page.js'
import { FEW, findOptions, type ReadSource } from './reads.js'

/** The maximum size in bytes of a document in a list that is read together with others. */
const SIZE = 16_384

/** Creates the function that reads several lists by one statement, and so from one snapshot. */
export function createListTogether(source: ReadSource): Required<Pick<StorageAdapter, 'listTogether'>> {
  const { use, indexesOf } = source
  const { dialect } = source.engine
  return {
    async listTogether(lists, caller) {
      const values: Value[] = []
      const { page } = createStatements({
        ...dialect,
        parameter: (_, value) => dialect.parameter(values.push(value), value),
      })
      const bytes = String(Math.floor(bounds.readBytes / lists.length))
      const columns = lists.map(({ in: collection, filter, limit }, i) => {
        const { length } = values
        const { text, isExact } = page(collection, { filter, sort: [], skip: 0, limit })
        if (isExact) return nameList(`(${writeList(text, bytes, String(SIZE))})`, i)
        values.length = length
        return nameList('NULL', i)
      })
      const long = lists.find((list) => !isShort(indexesOf(list.in), { ...list, sort: [], skip: 0 }))
      const options = long && findOptions(source, { ...long, collection: long.in }, caller, FEW.listed)
      const text = `SELECT ${columns.join(', ')}`
      const reading = whenReady(options, (found) =>
        use(({ readRows }) => readRows(text, values), caller, found),
      )
      const [row = []] = await explained(Promise.resolve(reading))
      return row.map(parse)
    },
  }
}

const parse = (text: unknown): ListedTogether[number] =>
  typeof text === 'string' ? (JSON.parse(text) as StoredDocument[]) : undefined
