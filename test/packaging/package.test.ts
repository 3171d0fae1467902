import { execFile } from 'node:child_process'
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// CONTRACT.md §7, "Subpaths"

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** The public surface. A change of it is meant. */
const EXPORTS: { readonly [subpath: string]: readonly string[] } = {
  '.': [
    'ConfigError',
    'ServiceError',
    'compare',
    'compileField',
    'compileFilter',
    'createCollectionService',
    'createMemoryAdapter',
    'defineConfig',
    'forwardedAddress',
    'isServiceError',
    'matches',
    'refuse',
  ],
  './node': ['createWorkerHasher', 'nodeRequest', 'toNodeHandler'],
  './testing': [
    'adapterCases',
    'createTestHasher',
    'expectAllowed',
    'expectDenied',
    'fuzzAdapter',
    'runCase',
    'testAdapter',
  ],
  './sqlite': ['createSqliteAdapter'],
  './postgres': ['createPostgresAdapter'],
  './durable-object': ['createDurableObjectAdapter'],
  './d1': ['createD1Adapter'],
  './libsql': ['createLibsqlAdapter'],
  './sqlite-wasm': ['createSqliteWasmAdapter'],
  './client': ['ClientError', 'createClient', 'edges', 'escapePattern', 'isClientError', 'retry', 'toQuery'],
  './insight': [
    'checkConfig',
    'checkData',
    'checkMigrations',
    'checkSeed',
    'comparePermissions',
    'describeApi',
    'describeDifferences',
    'explainRequest',
    'permissionMatrix',
  ],
  './page': ['createPage'],
  './transfer': ['TransferError', 'dump', 'load'],
  './migrate': ['defineMigration', 'dropUniqueIndex', 'migrateCollections'],
}

const specifierOf = (subpath: string): string => `collection-service${subpath.slice(1)}`
const specifiers = Object.keys(EXPORTS).map(specifierOf)

interface Manifest {
  readonly version: string
  readonly bin: { readonly [name: string]: string }
  readonly exports: { readonly [subpath: string]: unknown }
  readonly dependencies: { readonly [name: string]: string }
}

let folder: string
let tarball: string
/** A project that has installed the packed package, and nothing that only its development needs. */
let project: string
let installed: string
let manifest: Manifest

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-'))
  await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: root })
  const [name = ''] = await readdir(folder)
  tarball = join(folder, name)
  await run('tar', ['-xzf', tarball, '-C', folder])
  project = join(folder, 'project')
  installed = join(project, 'node_modules', 'collection-service')
  await cp(join(folder, 'package'), installed, { recursive: true })
  manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const dependency of Object.keys(manifest.dependencies)) {
    const link = join(project, 'node_modules', dependency)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', dependency), link)
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a script in the project and returns what it prints as JSON. */
async function runScript(type: 'module' | 'commonjs', script: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, [`--input-type=${type}`, '--eval', script], { cwd: project })
  return JSON.parse(stdout)
}

const expected = Object.values(EXPORTS)

test('the packed files pass publint, warnings included', async () => {
  const { buffer } = new Uint8Array(await readFile(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})

test('the package holds what is built and what describes it, nothing else', async () => {
  const files = await readdir(installed, { recursive: true })
  const others = files.filter(
    (file) =>
      !/^dist(\/[\w-]+(\.d-[\w-]+)?\.(js|cjs|d\.ts|d\.cts|schema\.json))?$/.test(file) &&
      !/^(docs|examples)(\/|$)/.test(file) &&
      !/^(package\.json|LICENSE|(README|CHANGELOG)\.md|\.github(\/page\.png)?|src|src\/core|src\/core\/storage\.ts|test|test\/contract|test\/contract\/CONTRACT\.md)$/.test(
        file,
      ),
  )
  expect(others).toEqual([])
  expect(files).toEqual(expect.arrayContaining(['package.json', 'LICENSE', 'dist/config.schema.json']))
})

test('the package is small, without maps to what is not there', async () => {
  // Bundles that can be read are larger than minified ones.
  expect((await stat(tarball)).size).toBeLessThan(1_500_000)
  const files = (await readdir(join(installed, 'dist'))).filter((file) => /\.c?js$/.test(file))
  for (const file of files) {
    const text = await readFile(join(installed, 'dist', file), 'utf8')
    expect([file, text.includes('sourceMappingURL')]).toEqual([file, false])
  }
})

/** What a text points at inside the package: links, files by their names. */
const CITATION = /\]\((?!#|\w+:)([^)#\s]+)|\b(\w+\.md|(?:docs|examples|src|test)\/[\w./-]+\.\w+)/g

/** Where a name may stand for a file: in the package, beside what cites it, and, for the contract, where it lies. */
const placesOf = (file: string, name: string): readonly string[] =>
  ['', dirname(file), ...(name === 'CONTRACT.md' ? ['test/contract'] : [])].map((place) =>
    join(installed, place, name),
  )

test('whatever the documents and the types cite is in the package', async () => {
  const files = (await readdir(installed, { recursive: true })).filter(
    (file) => /\.(md|d\.ts|d\.cts|schema\.json)$/.test(file) || /^(examples|src)\/.*\.\w+$/.test(file),
  )
  expect(files).toContain('dist/config.schema.json')
  const missing: string[] = []
  for (const file of files) {
    const text = await readFile(join(installed, file), 'utf8')
    for (const [cited, link, plain] of text.matchAll(CITATION)) {
      const name = link ?? plain ?? cited
      const found = await Promise.any(
        placesOf(file, name).map((place) => access(place).then(() => true)),
      ).catch(() => false)
      if (!found) missing.push(`${file}: ${name}`)
    }
  }
  expect(missing).toEqual([])
})

const targetsOf = (entry: unknown): readonly string[] =>
  typeof entry === 'string' ? [entry] : Object.values(entry as object).flatMap(targetsOf)

test('whatever the export map names is there', async () => {
  const targets = Object.values(manifest.exports).flatMap(targetsOf)
  for (const target of [...targets, ...Object.values(manifest.bin)]) await access(join(installed, target))
  expect(Object.keys(manifest.exports)).toEqual([
    ...Object.keys(EXPORTS),
    './config.schema.json',
    './package.json',
  ])
})

test('the types need no package but node’s', async () => {
  const files = await readdir(join(installed, 'dist'))
  for (const file of files.filter((name) => /\.d\.c?ts$/.test(name))) {
    const text = await readFile(join(installed, 'dist', file), 'utf8')
    const imports = [...text.matchAll(/(?:from|import\(|require\()\s*['"]([^'"]+)['"]/g)].map(
      ([, from]) => from,
    )
    expect([file, imports.filter((from) => !/^(\.|node:)/.test(from ?? ''))]).toEqual([file, []])
  }
})

describe('every subpath has the public names', () => {
  test('with import', async () => {
    const script = `
      const names = []
      for (const name of ${JSON.stringify(specifiers)}) names.push(Object.keys(await import(name)).sort())
      console.log(JSON.stringify(names))`
    expect(await runScript('module', script)).toEqual(expected)
  })

  test('with require', async () => {
    const script = `console.log(JSON.stringify(${JSON.stringify(specifiers)}.map((name) => Object.keys(require(name)).sort())))`
    expect(await runScript('commonjs', script)).toEqual(expected)
  })
})

test('the copies for import and require understand each other', async () => {
  const script = `
    import { createRequire } from 'node:module'
    import * as esm from 'collection-service'
    import { toNodeHandler } from 'collection-service/node'
    import { createTestHasher } from 'collection-service/testing'
    const require = createRequire(import.meta.url)
    const cjs = require('collection-service')
    const caught = (work) => { try { work() } catch (error) { return error } }
    const fault = caught(() => cjs.createCollectionService({}))
    const config = { collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } } }
    const adapter = cjs.createMemoryAdapter({ documents: { notes: [{ text: 'Hello' }] } })
    const handler = esm.createCollectionService(config, adapter, { hasher: createTestHasher() })
    const broken = { ...adapter, async list() { throw new cjs.ServiceError('storage_unavailable', 'gone') } }
    const failing = esm.createCollectionService(config, broken, { logger: { error() {} } })
    const get = (handler) => handler(new Request('http://localhost/notes?project=["text"]'))
    console.log(JSON.stringify({
      twoCopies: esm.ConfigError !== cjs.ConfigError,
      code: fault.code,
      paths: fault.faults.map(({ path }) => path),
      recognised: esm.isServiceError(new cjs.ServiceError('forbidden', 'no')),
      mounts: [typeof toNodeHandler(cjs.createCollectionService(config)), typeof require('collection-service/node').toNodeHandler(handler)],
      notes: (await (await get(handler)).json()).map(({ text }) => text),
      status: (await get(failing)).status,
    }))`
  expect(await runScript('module', script)).toEqual({
    twoCopies: true,
    code: 'invalid_config',
    paths: ['/collections'],
    recognised: true,
    mounts: ['function', 'function'],
    notes: ['Hello'],
    status: 503,
  })
})

test.each([
  ['module', `import { createCollectionService } from 'collection-service'`],
  ['commonjs', `const { createCollectionService } = require('collection-service')`],
] as const)('what describes a service is loaded with the first request for it, as %s', async (type, load) => {
  // The debugger hears of each file that is loaded, by `import` and by `require`.
  const script = `${load}
    const { Session } = process.getBuiltinModule('node:inspector')
    const session = new Session()
    const loaded = []
    session.connect()
    session.on('Debugger.scriptParsed', ({ params }) => loaded.push(params.url))
    const isLoaded = () => loaded.some((url) => url.includes('create-describe'))
    session.post('Debugger.enable', async () => {
      const handler = createCollectionService({ collections: { notes: { schema: {}, permissions: { '*': { read: true } } } } }, undefined, { openapi: true })
      const get = async (path) => (await handler(new Request('http://localhost' + path))).status
      const told = [await get('/notes'), isLoaded(), loaded.length > 0, await get('/_openapi.json'), isLoaded()]
      console.log(JSON.stringify(told))
    })`
  expect(await runScript(type, script)).toEqual([200, false, true, 200, true])
})

test.each([
  ['module', `import { createCollectionService } from 'collection-service'`],
  ['commonjs', `const { createCollectionService } = require('collection-service')`],
])('a configuration that nobody catches is explained before anything else, as %s', async (type, load) => {
  const script = `${load}\ncreateCollectionService({ collections: { notes: { shema: {} } } })`
  const { stderr } = await run('node', [`--input-type=${type}`, '-e', script], { cwd: project }).catch(
    (failed: { stderr: string }) => failed,
  )
  expect(stderr).toContain('/collections/notes/shema: is unknown; did you mean "schema"?')
  // Node begins with the line of the code that threw.
  const longest = Math.max(...stderr.split('\n').map(({ length }) => length))
  expect(longest).toBeLessThan(1000)
})

test('the schema of configurations can be imported as a file of the package', async () => {
  const script = `console.log(JSON.stringify(require('collection-service/config.schema.json')))`
  expect(await runScript('commonjs', script)).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    properties: { collections: { type: 'object' } },
  })
})

test('the command runs by itself and explains itself', async () => {
  const [[name, target] = ['', '']] = Object.entries(manifest.bin)
  expect(name).toBe('collection-service')
  const { stdout, stderr } = await run(join(installed, target), ['--help'], { cwd: project })
  expect(stdout).toContain('collection-service [config.json]')
  expect(stderr).toBe('')
})
