/** Workers for workerd: bundled as wrangler does it, with the package that a project has installed. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './packed.mjs'

// tsup brings it.
const esbuild = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')

/**
 * Bundles a worker for a project, and returns the script.
 *
 * - `entry`: the path of its main module.
 * - `values`: by name, values that its modules import in place of files.
 */
export async function bundleWorker({ project, entry, values = {} }) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [entry],
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    // Without the flag that a module of Node needs, miniflare does not load the script.
    external: ['cloudflare:*', 'node:*'],
    nodePaths: [join(project, 'node_modules')],
    logLevel: 'error',
    plugins: [{ name: 'project', setup: (build) => resolveIn(build, project, values) }],
  })
  return outputFiles[0].text
}

function resolveIn(build, project, values) {
  // The package of the project, not the one around the module.
  build.onResolve({ filter: /^collection-service(?:\/|$)/ }, ({ path, pluginData, kind }) =>
    pluginData === 'project'
      ? undefined
      : build.resolve(path, { kind, resolveDir: project, pluginData: 'project' }),
  )
  for (const [name, value] of Object.entries(values)) {
    build.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: 'values' }))
    build.onLoad({ filter: new RegExp(`^${name}$`), namespace: 'values' }, () => ({
      contents: JSON.stringify(value),
      loader: 'json',
    }))
  }
}

/** Returns the class that starts workers, from the folder that has installed miniflare. */
export const loadMiniflare = (folder) => createRequire(join(folder, 'package.json'))('miniflare').Miniflare

const settings = JSON.parse(await readFile(join(root, 'examples', 'wrangler.durable-object.json'), 'utf8'))

/** The options of a worker that uses the storages of Cloudflare, with the date and the flags of the guide. */
export const STORAGE_OPTIONS = {
  modules: true,
  compatibilityDate: settings.compatibility_date,
  compatibilityFlags: settings.compatibility_flags,
}
