/** Workers for workerd: bundled as wrangler does it, with the package that a project has installed. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

// tsup brings it.
const esbuild = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')

/**
 * Bundles a worker for a project, and returns the script.
 *
 * - `entry`: the path of its main module.
 * - `isNodeCompatible`: whether it will have the flag `nodejs_compat`, and so modules of Node.
 * - `values`: by name, values that its modules import in place of files.
 */
export async function bundleWorker({ project, entry, isNodeCompatible = false, values = {} }) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [entry],
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    external: ['cloudflare:*', ...(isNodeCompatible ? ['node:*'] : [])],
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

/** The options of a worker with the storages of Cloudflare. */
export const NODE_COMPATIBLE = {
  modules: true,
  compatibilityDate: '2026-07-30',
  compatibilityFlags: ['nodejs_compat'],
}
