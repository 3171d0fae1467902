/**
 * Runs the kit of adapters in Chromium, on the origin private file system: node opfs-kit.mjs PROJECT PACKAGE. PROJECT has
 * installed the package and has kit-in-opfs.mjs; PACKAGE is the folder of `@sqlite.org/sqlite-wasm`.
 */
import { join } from 'node:path'
import { findChromium, launch } from '../page/browser.mjs'
import { createCounts } from '../support/counts.mjs'
import { serveOpfs } from './serve-opfs.mjs'

const [project, wasm] = process.argv.slice(2)
const { judge, end } = createCounts()
const server = await serveOpfs({
  project,
  wasm,
  worker: 'kit-in-opfs.mjs',
  script: join(import.meta.dirname, 'kit-page.mjs'),
})
const browser = await launch(findChromium())
try {
  const tab = await browser.newPage()
  let reported = 0
  await new Promise((resolve, reject) => {
    tab.on('crash', () => reject(new Error('the page crashed')))
    const report = ({ name, failure, count }) => {
      if (name !== undefined) {
        reported += 1
        judge(`${name} › ${failure}`, failure === undefined)
      }
      if (count !== undefined) {
        judge(`${reported} of ${count} tests were reported`, reported === count)
        resolve()
      }
    }
    tab
      .exposeFunction('report', report)
      .then(() => tab.goto(server.url))
      .catch(reject)
  })
} catch (error) {
  judge(error.stack, false)
} finally {
  await browser.close()
  server.close()
}
end()
