/**
 * Runs the kit of adapters in workerd, on a Durable Object and on D1: node workerd-kit.mjs PROJECT MINIFLARE. Needs a node
 * that miniflare takes. PROJECT has installed the package, MINIFLARE has installed miniflare.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [project, miniflare] = process.argv.slice(2)
const { Miniflare } = createRequire(join(miniflare, 'package.json'))('miniflare')
// tsup brings it.
const require = createRequire(createRequire(import.meta.url).resolve('tsup'))
const esbuild = require('esbuild')

const script = join(project, 'kit.js')
await esbuild.build({
  entryPoints: [join(import.meta.dirname, 'kit-in-worker.mjs')],
  outfile: script,
  bundle: true,
  format: 'esm',
  platform: 'browser',
  conditions: ['workerd', 'worker', 'browser'],
  target: 'es2022',
  external: ['node:*', 'cloudflare:*'],
  logLevel: 'error',
  plugins: [
    {
      name: 'package',
      setup(build) {
        build.onResolve({ filter: /^collection-service(?:\/|$)/ }, ({ path, pluginData, kind }) =>
          pluginData === 'project'
            ? undefined
            : build.resolve(path, { kind, resolveDir: project, pluginData: 'project' }),
        )
      },
    },
  ],
})

const worker = new Miniflare({
  modules: true,
  scriptPath: script,
  compatibilityDate: '2026-07-30',
  compatibilityFlags: ['nodejs_compat'],
  durableObjects: { STORE: { className: 'Store', useSQLite: true } },
  d1Databases: ['D1'],
})
let passed = 0
let failed = 0
try {
  const ask = async (path) => (await worker.dispatchFetch(`http://kit.test${path}`)).json()
  for (const storage of ['object', 'd1']) {
    const { count } = await ask(`/${storage}`)
    for (let place = 0; place < count; place++) {
      const { name, failure } = await ask(`/${storage}?place=${place}`)
      if (failure === undefined) passed += 1
      else {
        failed += 1
        console.log(`✗ ${storage} › ${name} › ${failure}`)
      }
    }
  }
} finally {
  await worker.dispose().catch(() => {})
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
