import { rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { defineConfig, type Options } from 'tsup'
import ts from 'typescript'
import manifest from './package.json' with { type: 'json' }
import { publishedConfigSchema } from './src/core/config/shape/config-schema.js'
import { bundleTexts } from './src/tools/page/bundle-texts.js'

/** The entries that a server loads. */
const SERVER = {
  index: 'src/index.ts',
  node: 'src/mounts/node.ts',
  testing: 'src/tools/testing/index.ts',
  sqlite: 'src/adapters/sqlite/sqlite-adapter.ts',
  postgres: 'src/adapters/postgres/postgres-adapter.ts',
  'durable-object': 'src/adapters/sqlite/programs/durable-object.ts',
  d1: 'src/adapters/sqlite/programs/d1.ts',
  libsql: 'src/adapters/sqlite/programs/libsql.ts',
  'sqlite-wasm': 'src/adapters/sqlite/programs/sqlite-wasm.ts',
  insight: 'src/tools/insight/index.ts',
  page: 'src/tools/page/index.ts',
  transfer: 'src/tools/transfer/index.ts',
  migrate: 'src/tools/migrate/index.ts',
}

/** The programs of the command: itself, and the one that loads a configuration that is a module. */
const COMMAND = { cli: 'src/tools/cli/bin.ts', 'load-config': 'src/tools/cli/load-config.ts' }

/** The entry that a browser loads. */
const CLIENT = { client: 'src/client/client.ts' }

const TYPED = Object.entries({ ...SERVER, ...CLIENT })

/** The folder of the declarations before they are bundled. */
const LOOSE_TYPES = 'dist/.types'

const common: Options = {
  target: 'es2022',
  platform: 'neutral',
  external: [/^node:/],
  // Some runtimes know modules of Node only by their prefix.
  removeNodeProtocol: false,
  // There are no CommonJS builds of these, which Jest cannot load otherwise.
  noExternal: [/^@noble\/hashes/, 'uuid', 'leven'],
  esbuildPlugins: [bundleTexts],
  define: { PACKAGE_VERSION: JSON.stringify(manifest.version) },
  // One copy of each module, whichever subpath asks for it.
  splitting: true,
  treeshake: true,
  silent: true,
}

/** Scripts load what is loaded late by `require`: Jest has no `import()` there. */
const requireLate: NonNullable<Options['plugins']>[number] = {
  name: 'require-late',
  renderChunk: (code) => ({
    code: code.replace(/\bimport\(("\.\/[\w-]+\.cjs")\)/g, 'Promise.resolve().then(() => require($1))'),
  }),
}

/** Writes all declarations from one program: of sources, the bundler of types would make a program for each entry. */
function writeLooseTypes(): void {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, '.')
  const output = { declaration: true, emitDeclarationOnly: true, rootDir: 'src', outDir: LOOSE_TYPES }
  const files = TYPED.map(([, file]) => file)
  const program = ts.createProgram(files, { ...options, ...output, noEmit: false, noCheck: true })
  const [first] = program.emit().diagnostics
  if (first) throw new Error(ts.flattenDiagnosticMessageText(first.messageText, '\n'))
}

await rm('dist', { recursive: true, force: true })
await mkdir('dist')
await writeFile('dist/config.schema.json', JSON.stringify(publishedConfigSchema()))
writeLooseTypes()
process.on('exit', () => rmSync(LOOSE_TYPES, { recursive: true, force: true }))
// Types are bundled once: an ECMAScript module may take those of CommonJS, not the reverse.
for (const [name] of TYPED) await writeFile(`dist/${name}.d.ts`, `export * from './${name}.cjs'\n`)

const types = TYPED.map(([name, file]) => [name, file.replace('src', LOOSE_TYPES).replace(/ts$/, 'd.ts')])

export default defineConfig([
  // Not minified, so that a stack trace names the functions of `src` and each line can be read.
  { ...common, entry: { ...SERVER, ...COMMAND }, format: ['esm'] },
  { ...common, entry: SERVER, format: ['cjs'], plugins: [requireLate] },
  { ...common, entry: CLIENT, format: ['esm', 'cjs'], minify: true },
  { entry: Object.fromEntries(types), format: ['cjs'], dts: { only: true }, silent: true },
])
