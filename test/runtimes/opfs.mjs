/**
 * Opens the example of a page whose documents are in the origin private file system, in Chromium: node opfs.mjs PROJECT
 * PACKAGE. PROJECT has installed the package and has the example; PACKAGE is the folder of `@sqlite.org/sqlite-wasm`.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { findChromium, launch } from '../page/browser.mjs'

const [project, wasm] = process.argv.slice(2)
// tsup brings it.
const esbuild = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')

const { outputFiles } = await esbuild.build({
  absWorkingDir: project,
  entryPoints: ['opfs.ts', 'opfs-page.ts'],
  outdir: 'public',
  bundle: true,
  format: 'esm',
  target: 'es2022',
  write: false,
  logLevel: 'error',
  alias: { '@sqlite.org/sqlite-wasm': join(wasm, 'dist', 'index.mjs') },
})
const [worker, page] = outputFiles.map(({ text }) => text)
const FILES = {
  '/': [
    'text/html',
    '<!doctype html><title>Notes</title><body><script type="module" src="opfs-page.js"></script>',
  ],
  '/opfs.js': ['text/javascript', worker],
  '/opfs-page.js': ['text/javascript', page],
  '/sqlite3.wasm': ['application/wasm', await readFile(join(wasm, 'dist', 'sqlite3.wasm'))],
}
const server = createServer(({ url }, response) => {
  const [type, content] = FILES[url] ?? ['text/plain', '']
  response.writeHead(FILES[url] ? 200 : 404, { 'content-type': type }).end(content)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const browser = await launch(findChromium())
let failure
try {
  const tab = await (await browser.newContext()).newPage()
  tab.setDefaultTimeout(120_000)
  const faults = []
  tab.on('pageerror', (error) => faults.push(error.stack))
  const items = tab.locator('li')
  const write = async (text) => {
    await tab.locator('input').fill(text)
    await tab.locator('input').press('Enter')
    await items.filter({ hasText: text }).waitFor()
  }
  await tab.goto(`http://127.0.0.1:${server.address().port}/`)
  await write('first')
  await tab.reload()
  await items.first().waitFor()
  assert.deepEqual(await items.allTextContents(), ['first'])
  await write('second')
  await tab.reload()
  await items.first().waitFor()
  assert.deepEqual(await items.allTextContents(), ['first', 'second'])
  assert.deepEqual(faults, [])
} catch (error) {
  failure = error
}
await browser.close()
server.close()
if (failure) console.log(`✗ a page finds its documents again › ${failure.stack}`)
console.log(failure ? '0 passed, 1 failed' : '1 passed, 0 failed')
process.exit(failure ? 1 : 0)
