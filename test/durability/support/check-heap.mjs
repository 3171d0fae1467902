/**
 * A process of its own that checks the documents of a file, and prints how many MiB more were ever in use than before.
 * It needs `--expose-gc`, and takes the file, and the number of documents to be found.
 */
import { checkData } from '../../../dist/insight.js'
import { createSqliteAdapter } from '../../../dist/sqlite.js'

const MIB = 1024 * 1024
const [, , file, count] = process.argv
const config = {
  collections: {
    notes: {
      schema: {
        text: { type: 'string' },
        code: { type: 'string', unique: true },
        kept: { type: 'string', required: true },
      },
      permissions: { user: { read: { where: { kept: 'x' } }, create: true } },
    },
  },
}

const adapter = createSqliteAdapter({ file })
await adapter.open([])

/** What cannot be freed while a page is asked for. */
const held = () => {
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MIB
}

const before = held()
let most = before
let pages = 0
const [report] = await checkData(
  config,
  {
    async list(collection, query) {
      if (pages++ % 20 === 0) most = Math.max(most, held())
      return adapter.list(collection, query)
    },
  },
  { authenticate: true },
)
most = Math.max(most, held())
await adapter.close()
if (report.documents !== Number(count)) throw new Error(`${report.documents} documents were found`)
console.log(JSON.stringify({ growth: most - before, pages, report }))
