/** Bundles the scenes with their parts of `test/support`, for processes that give them a build of the package in place of `src`. */
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { root } from '../support/packed.mjs'

/** The modules that come from the build under test, by the subpath that exports them. */
const TAKEN = {
  'src/index.ts': '.',
  'src/adapters/sqlite/sqlite-adapter.ts': './sqlite',
  'src/tools/testing/index.ts': './testing',
}

/** Bundles into a file. Throws where the scenes do not import what is under test, as when a module has moved. */
export async function bundleScenes(outfile) {
  const found = new Set()
  const takePackage = {
    name: 'take-package',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) => {
        const file = relative(root, join(resolveDir, path)).replaceAll('\\', '/').replace(/\.js$/, '.ts')
        const subpath = TAKEN[file]
        if (subpath === undefined) return undefined
        found.add(subpath)
        return { path: subpath, namespace: 'twin' }
      })
      onLoad({ filter: /.*/, namespace: 'twin' }, ({ path }) => ({
        contents: `module.exports = globalThis.twin[${JSON.stringify(path)}]`,
      }))
      // Generators lie beside laws, whose assertions are not made here; nor is there a page.
      onResolve({ filter: /^vitest$|\?\w+$/ }, ({ path }) => ({
        path,
        namespace: 'absent',
        sideEffects: false,
      }))
      onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
        contents: 'module.exports = { expect() { throw new Error("a scene asserts nothing") } }',
      }))
    },
  }
  const { metafile } = await build({
    entryPoints: [join(root, 'test/twin/scenes/play.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    metafile: true,
    logLevel: 'warning',
    plugins: [takePackage],
  })
  const missing = Object.values(TAKEN).filter((subpath) => !found.has(subpath))
  if (missing.length > 0)
    throw new Error(
      `no scene imports what ${missing.join(' and ')} exports: correct TAKEN in test/twin/bundle.mjs`,
    )
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([name, { bytesInOutput }]) => (bytesInOutput > 0 ? [name] : [])),
  )
  const wrong = used.filter((name) => /create-service|sqlite-adapter/.test(name))
  if (wrong.length > 0) throw new Error(`the scenes bring a service of their own: ${wrong.join(', ')}`)
}
