import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Options } from 'tsup'
import { bundlePage } from './bundle-page.js'

const readModule = (name: string): Promise<string> =>
  readFile(fileURLToPath(import.meta.resolve(name)), 'utf8')

const writes = new Map<string, Promise<void>>()

/**
 * Writes `dist/<name>`, a module that exports a value. It is written once for all output formats, because the value is
 * as large as the code that uses it.
 */
function writeOnce(name: string, read: () => Promise<unknown>): Promise<void> {
  const write = async (): Promise<void> =>
    writeFile(`dist/${name}`, `module.exports=${JSON.stringify(await read())}\n`)
  const written = writes.get(name) ?? write()
  writes.set(name, written)
  return written
}

/**
 * An esbuild plugin for imports of text. `./file?raw` is the text of a file, which is bundled. `package?raw` is the
 * minified text of a package, and `./main.tsx?document` an HTML document; each of these two becomes a module in `dist`.
 */
export const bundleTexts: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'bundle-texts',
  setup(build) {
    build.onResolve({ filter: /^\..*\?raw$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace('?raw', '')),
      namespace: 'text',
    }))
    build.onLoad({ filter: /.*/, namespace: 'text' }, async ({ path }) => ({
      contents: await readFile(path, 'utf8'),
      loader: 'text',
    }))
    build.onResolve({ filter: /^\w+\?raw$/ }, async ({ path }) => {
      const name = path.replace('?raw', '')
      await writeOnce(`${name}-text.cjs`, async () => {
        const minifying = { minify: true, legalComments: 'inline' } as const
        return (await build.esbuild.transform(await readModule(name), minifying)).code
      })
      return { path: `./${name}-text.cjs`, external: true }
    })
    build.onResolve({ filter: /\?document$/ }, async ({ path, resolveDir }) => {
      const entry = join(resolveDir, path.replace('?document', ''))
      await writeOnce('page-document.cjs', () => bundlePage(entry))
      return { path: './page-document.cjs', external: true }
    })
  },
}
