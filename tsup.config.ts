import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import type { Options } from 'tsup'
import { defineConfig } from 'tsup'
import ts from 'typescript'
import manifest from './package.json' with { type: 'json' }
import { publishedConfigSchema } from './src/config/shape/config-schema.js'
import { bundlePage } from './src/page/bundle-page.js'

/** The files that hold the text of a module: one for both formats, because it is as large as what uses it. */
const rawFileOf = (name: string): string => `${name}-text.cjs`

/** `import text from 'package?raw'`: the text of a module, as vite gives it in tests, in as few bytes as it needs. */
const rawText: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'raw-text',
  setup(build) {
    build.onResolve({ filter: /^\w+\?raw$/ }, async ({ path }) => {
      const name = path.replace(/\?raw$/, '')
      const { code } = await transform(await readFile(fileURLToPath(import.meta.resolve(name)), 'utf8'), {
        minify: true,
        legalComments: 'inline',
      })
      await mkdir('dist', { recursive: true })
      await writeFile(`dist/${rawFileOf(name)}`, `module.exports=${JSON.stringify(code)}\n`)
      return { path: `./${rawFileOf(name)}`, external: true }
    })
  },
}

/** `import text from './file?raw'`: the text of a file as it is. */
const fileText: typeof rawText = {
  name: 'file-text',
  setup(build) {
    build.onResolve({ filter: /^\.\.?\/.*\?raw$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace(/\?raw$/, '')),
      namespace: 'file-text',
    }))
    build.onLoad({ filter: /.*/, namespace: 'file-text' }, async ({ path }) => ({
      contents: await readFile(path, 'utf8'),
      loader: 'text',
    }))
  },
}

let page: ReturnType<typeof bundlePage> | undefined

/** `import page from './file?document'`: the page of which the file is the beginning, once for both formats. */
const pageDocument: typeof rawText = {
  name: 'page-document',
  setup(build) {
    build.onResolve({ filter: /\?document$/ }, async ({ path, resolveDir }) => {
      page ??= bundlePage(join(resolveDir, path.replace(/\?document$/, '')))
      await mkdir('dist', { recursive: true })
      await writeFile('dist/page-document.cjs', `module.exports=${JSON.stringify(await page)}\n`)
      return { path: './page-document.cjs', external: true }
    })
  },
}

/** What has types, by the name of its files. */
const ENTRIES = {
  index: 'src/index.ts',
  node: 'src/mounts/node.ts',
  testing: 'src/testing/index.ts',
  sqlite: 'src/adapters/sqlite/sqlite-adapter.ts',
  postgres: 'src/adapters/postgres/postgres-adapter.ts',
  client: 'src/client/client.ts',
  insight: 'src/insight/index.ts',
  page: 'src/page/index.ts',
}

const { testing: _, ...SHIPPED_TWICE } = ENTRIES

const common: Options = {
  target: 'es2022',
  platform: 'neutral',
  external: [/^node:/],
  // There are no CommonJS builds of these, which Jest cannot load otherwise.
  noExternal: [/^@noble\/hashes/, 'uuid', 'leven'],
  esbuildPlugins: [fileText, rawText, pageDocument],
  define: { PACKAGE_VERSION: JSON.stringify(manifest.version) },
  // One copy of each module, whichever subpath asks for it.
  splitting: true,
  // Each makes it smaller: the bundler, also by short names between the files, and the minifier after it.
  esbuildOptions(options) {
    Object.assign(options, { minifySyntax: true, minifyIdentifiers: true })
  },
  treeshake: true,
  silent: true,
  // The package is downloaded more often than its bundles are read; maps without sources would be of no use to anybody.
  minify: 'terser',
  // Functions that are used once stay where they are: in the place of its call, one would be made anew for each call. For
  // a generator that takes 8 us, and with it all that it sees lives until the next full collection.
  // Of what is thrown and not caught, Node prints the line from which it came. A line that ends a statement needs no semicolon.
  terserOptions: {
    ecma: 2020,
    compress: { passes: 3, reduce_funcs: false },
    format: { max_line_len: 800, semicolons: false },
  },
}

const modules: Options = {
  ...common,
  entry: { ...SHIPPED_TWICE, cli: 'src/cli/main.ts' },
  format: ['esm'],
  async onSuccess() {
    await writeFile('dist/config.schema.json', JSON.stringify(publishedConfigSchema()))
    // Types are written once: a module may take those of CommonJS, not the reverse.
    for (const name of Object.keys(ENTRIES))
      await writeFile(`dist/${name}.d.ts`, `export * from './${name}.cjs'\n`)
  },
}

const scripts: Options = {
  ...common,
  entry: ENTRIES,
  format: ['cjs'],
  async onSuccess() {
    // Tests run where there is CommonJS too: one copy of what only they need is enough.
    const names = Object.keys(createRequire(import.meta.url)('./dist/testing.cjs'))
    await writeFile(
      'dist/testing.js',
      `import all from './testing.cjs'\nexport const { ${names.join(', ')} } = all\n`,
    )
  },
}

/** The types of each module, before they are put together. */
const LOOSE_TYPES = 'dist/.types'

/**
 * Writes the types of all modules from one program: of TypeScript files, the bundler of types makes a program for each
 * folder with an entry, with all libraries. What is wrong with the code is said by `npm run typecheck`.
 */
function writeLooseTypes(): void {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, '.')
  const program = ts.createProgram(Object.values(ENTRIES), {
    ...options,
    noEmit: false,
    noCheck: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: 'src',
    outDir: LOOSE_TYPES,
  })
  const { diagnostics } = program.emit()
  const [first] = diagnostics
  if (first) throw new Error(ts.flattenDiagnosticMessageText(first.messageText, '\n'))
}

const types: Options = {
  entry: Object.fromEntries(
    Object.entries(ENTRIES).map(([name, file]) => [
      name,
      file.replace('src', LOOSE_TYPES).replace(/\.ts$/, '.d.ts'),
    ]),
  ),
  format: ['cjs'],
  dts: { only: true },
  silent: true,
}

/** Leaves only the types that were put together, the shared ones under names like those of code: without a `.d`. */
function endTypes(): void {
  rmSync(LOOSE_TYPES, { recursive: true, force: true })
  for (const name of readdirSync('dist').filter((file) => file.endsWith('.d.cts'))) {
    const text = readFileSync(`dist/${name}`, 'utf8')
    writeFileSync(`dist/${name}`, text.replace(/((?:from|import) '\.\/\w+)\.d-/g, '$1-'))
    renameSync(`dist/${name}`, `dist/${name.replace('.d-', '-')}`)
  }
}

/** Gives the modules that are shared short names: digests, of which each import has one, cannot be compressed. */
function nameChunks(): void {
  const files = readdirSync('dist').filter((name) => /\.c?js$/.test(name))
  const sizeOf = (name: string): number => statSync(`dist/${name}`).size
  const chunks = files.filter((name) => name.startsWith('chunk-')).sort((a, b) => sizeOf(a) - sizeOf(b))
  const names = new Map(chunks.map((name, i) => [name, name.replace(/\w+(?=\.)/, String(i))]))
  for (const file of files) {
    const text = readFileSync(`dist/${file}`, 'utf8')
    const named = text.replace(/\bchunk-\w+\.c?js\b/g, (name) => names.get(name) ?? name)
    writeFileSync(`dist/${file}`, named)
    renameSync(`dist/${file}`, `dist/${names.get(file) ?? file}`)
  }
}

// Once for all, before any of them writes.
await rm('dist', { recursive: true, force: true })
writeLooseTypes()
process.on('exit', endTypes)
process.on('exit', nameChunks)

export default defineConfig([modules, scripts, types])
