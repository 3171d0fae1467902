import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'

// tsup brings it.
const esbuild = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')

/**
 * Serves the example of a page whose documents are in the origin private file system.
 *
 * - `project`: the folder that has installed the package and has the example.
 * - `wasm`: the folder of `@sqlite.org/sqlite-wasm`.
 * - `worker`, `script`: the paths of the worker and of the script of the page; without them, those of the example.
 */
export async function serveOpfs({ project, wasm, worker = 'opfs.ts', script = 'opfs-page.ts' }) {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: project,
    entryPoints: { opfs: worker, page: script },
    outdir: 'public',
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'error',
    alias: { '@sqlite.org/sqlite-wasm': join(wasm, 'dist', 'index.mjs') },
  })
  const [workerText, page] = outputFiles.map(({ text }) => text)
  const files = {
    '/': [
      'text/html',
      '<!doctype html><title>Notes</title><body><script type="module" src="page.js"></script>',
    ],
    '/opfs.js': ['text/javascript', workerText],
    '/page.js': ['text/javascript', page],
    '/sqlite3.wasm': ['application/wasm', await readFile(join(wasm, 'dist', 'sqlite3.wasm'))],
  }
  const server = createServer(({ url }, response) => {
    const [type, content] = files[url] ?? ['text/plain', '']
    response.writeHead(files[url] ? 200 : 404, { 'content-type': type }).end(content)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() }
}
