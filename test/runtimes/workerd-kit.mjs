/**
 * Runs the kit of adapters in workerd, on a Durable Object and on D1: node workerd-kit.mjs PROJECT MINIFLARE. Needs a node
 * that miniflare takes. PROJECT has installed the package, MINIFLARE has installed miniflare.
 */
import { join } from 'node:path'
import { createCounts } from '../support/counts.mjs'
import { bundleWorker, loadMiniflare, STORAGE_OPTIONS } from '../support/workerd.mjs'

const [project, miniflare] = process.argv.slice(2)
const Miniflare = loadMiniflare(miniflare)
const { judge, end } = createCounts()

const script = await bundleWorker({
  project,
  entry: join(import.meta.dirname, 'kit-in-worker.mjs'),
})
const worker = new Miniflare({
  ...STORAGE_OPTIONS,
  script,
  durableObjects: { STORE: { className: 'Store', useSQLite: true } },
  d1Databases: ['D1'],
})
try {
  const ask = async (path) => (await worker.dispatchFetch(`http://kit.test${path}`)).json()
  for (const storage of ['object', 'd1']) {
    const { count } = await ask(`/${storage}`)
    for (let place = 0; place < count; place++) {
      const { name, failure } = await ask(`/${storage}?place=${place}`)
      judge(`${storage} › ${name} › ${failure}`, failure === undefined)
    }
  }
} finally {
  await worker.dispose().catch(() => {})
}
end()
