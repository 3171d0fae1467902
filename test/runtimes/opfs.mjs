/**
 * Opens the example of a page whose documents are in the origin private file system, in Chromium: node opfs.mjs PROJECT
 * PACKAGE. PROJECT has installed the package and has the example; PACKAGE is the folder of `@sqlite.org/sqlite-wasm`.
 */
import assert from 'node:assert/strict'
import { findChromium, launch } from '../page/browser.mjs'
import { serveOpfs } from './serve-opfs.mjs'

const [project, wasm] = process.argv.slice(2)
const server = await serveOpfs({ project, wasm })
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
  await tab.goto(server.url)
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
