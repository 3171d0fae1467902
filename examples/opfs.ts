// Documents in the origin private file system of a browser, without a server: this is a worker, and opfs-page.ts sends
// requests to it. To install SQLite (the adapter needs 3.54 or later, and the tag `latest` is older), and to bundle both,
// beside the file sqlite3.wasm of the package:
// npm install @sqlite.org/sqlite-wasm@3.54.1-build1
// npx esbuild opfs.ts opfs-page.ts --bundle --format=esm --outdir=public
import loadSqlite from '@sqlite.org/sqlite-wasm'
import { createCollectionService, defineConfig } from 'collection-service'
import { createSqliteWasmAdapter } from 'collection-service/sqlite-wasm'

export const config = defineConfig({
  collections: {
    notes: { schema: { text: { type: 'string', required: true } } },
  },
})

async function open() {
  const sqlite3 = await loadSqlite()
  // Only one tab at a time has the files; in another tab, this rejects.
  const files = await sqlite3.installOpfsSAHPoolVfs({ name: 'app' })
  const service = createCollectionService(config, createSqliteWasmAdapter(new files.OpfsSAHPoolDb('/app.db')))
  // The page has one user, who may do everything.
  return service.system()
}

// Requests that come meanwhile wait.
const opened = open()

addEventListener('message', async ({ data: { url, init }, ports: [port] }) => {
  try {
    const handle = await opened
    const response = await handle(new Request(url, init))
    // An answer such as a 204 has none, and must not get an empty one.
    const body = response.body && (await response.arrayBuffer())
    port?.postMessage({ body, init: { status: response.status, headers: [...response.headers] } })
  } catch (error) {
    port?.postMessage({ error: String(error) })
  }
})
