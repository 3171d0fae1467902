import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { FOLDERS, LAYERS, ROOM_FOLDERS } from './layers.js'

interface Import {
  readonly from: string
  /** Gone after compilation. */
  readonly isType: boolean
  /** Loaded when it is needed, by `import()`. */
  readonly isLate?: boolean
}

interface SourceFile {
  /** Relative to `src`. */
  readonly path: string
  readonly imports: readonly Import[]
  readonly hasDefaultExport: boolean
  /** Every name that stands in the code, comments and strings not counted. */
  readonly names: ReadonlySet<string>
}

/** Layers without code of their own: who imports them imports types. */
const TYPES: readonly string[] = ['field-definition', 'types', 'storage', 'infer', 'consumers']

/** Arrows that only types may take. */
const TYPE_ARROWS: readonly (readonly [layer: string, target: string])[] = [
  ['storage', 'filter'],
  ['service', 'config'],
  ['names', 'config'],
  ['service', 'hooks'],
  ['http', 'hooks'],
  ['create-service', 'hooks'],
  ['http', 'config'],
  // What the client needs at run time is counted in bytes.
  ['client', 'errors'],
]

/** Arrows that only `import()` may take: a service that describes nothing does not load them. */
const LATE_ARROWS: readonly (readonly [layer: string, target: string])[] = [['create-service', 'openapi']]

/** What a table says of the longest beginning of a path. */
function findLongest(path: string, table: { readonly [beginning: string]: string }): string {
  const bare = path.replace(/\.ts$/, '')
  const found = Object.keys(table).filter(
    (beginning) => bare === beginning || bare.startsWith(`${beginning}/`),
  )
  const [longest = ''] = found.sort((a, b) => b.length - a.length)
  return table[longest] ?? bare
}

const layerOf = (path: string): string => findLongest(path, FOLDERS)

const isRelative = (from: string): boolean => from.startsWith('.')

const resolve = (path: string, from: string): string =>
  posix.join(posix.dirname(path), from).replace(/\.js$/, '.ts')

/** The folder of an adapter. */
const adapterOf = (path: string): string => `${path.split('/').slice(0, 2).join('/')}/`

/** What adapters have in common, all of them or those for engines of SQL. */
const SHARED_BY_ADAPTERS: readonly string[] = ['adapters/log/', 'adapters/sql/']

/** Whether the text of an example is inserted: templates begin with some. */
const isExample = (from: string): boolean => /^(?:\.\.\/)+examples\/.*\?raw$/.test(from)

/** Arrows between layers that `LAYERS` does not draw. */
function findWrongArrows(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ from, isType, isLate = false }) => {
      if (!isRelative(from) || isExample(from)) return []
      const target = resolve(path, from)
      const [source, layer] = [layerOf(path), layerOf(target)]
      if (source === 'adapters' && layer === 'adapters') {
        const folders = [adapterOf(path), ...SHARED_BY_ADAPTERS]
        return folders.some((folder) => target.startsWith(folder)) ? [] : [`${path} → ${target}`]
      }
      if (source === layer) return []
      const isForTypes = TYPES.includes(layer) || TYPE_ARROWS.some(([a, b]) => a === source && b === layer)
      const mustBeLate = LATE_ARROWS.some(([a, b]) => a === source && b === layer)
      if (LAYERS[source]?.includes(layer) && (isType || !isForTypes) && (isLate || !mustBeLate)) return []
      return [`${path} → ${target}`]
    }),
  )
}

/** Imports of tools in what answers requests, types or not. */
const findTools = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, imports }) =>
    imports.flatMap(({ from, isLate = false }) => {
      const target = isRelative(from) ? resolve(path, from) : ''
      return path.startsWith('tools/') || !target.startsWith('tools/') || isLate
        ? []
        : [`${path} → ${target}`]
    }),
  )

/** What the rooms of the service may import of each other, beside the floor on which they stand. */
const ROOMS: { readonly [room: string]: readonly string[] } = {
  service: ['service/store'],
  'service/store': [],
  'service/read': ['service', 'service/store'],
  'service/write': ['service', 'service/store'],
  'service/accounts': ['service', 'service/store', 'service/write'],
  'service/batch': ['service', 'service/store', 'service/read', 'service/write', 'service/accounts'],
  'service/changes': [
    'service',
    'service/store',
    'service/read',
    'service/write',
    'service/accounts',
    'service/consumers',
  ],
  'service/hooks': ['service', 'service/store', 'service/write', 'service/batch'],
  'service/consumers': ['service', 'service/store', 'service/hooks'],
  'service/stored': ['service'],
  'service/migrate': ['service', 'service/store', 'service/write', 'service/stored'],
  'service/start': ['service', 'service/store', 'service/write', 'service/changes', 'service/stored'],
}

const roomOf = (path: string): string =>
  path === 'core/request/store.ts' ? 'service' : findLongest(path, ROOM_FOLDERS)

/** Arrows between rooms that `ROOMS` does not draw. */
const findWrongRooms = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, imports }) =>
    imports.flatMap(({ from }) => {
      if (layerOf(path) !== 'service' || !isRelative(from)) return []
      const target = resolve(path, from)
      const [room, other] = [roomOf(path), roomOf(target)]
      if (layerOf(target) !== 'service' || room === other || ROOMS[room]?.includes(other)) return []
      return [`${path} → ${target}`]
    }),
  )

/** Who may know that there is a storage: what makes one, starts one, tests one, or is the door to it. */
const DOORS: readonly string[] = [
  'core/storage.ts',
  'index.ts',
  'core/create-service.ts',
  'core/request/store.ts',
  'core/request/observe-storage.ts',
  'core/stored/names/',
  'core/start/',
  'core/migrate/',
  'tools/migrate/',
  'tools/cli/',
  'tools/testing/',
  'tools/transfer/',
  'adapters/',
]

/** Ways to the storage beside the door, and reads without an access where a caller gets to see what was read. */
const findBackDoors = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, names }) => {
    const isDoor = DOORS.some((door) => path.startsWith(door))
    const past = !isDoor && names.has('StorageAdapter') ? [`${path}: StorageAdapter`] : []
    const isShown = /^core\/documents\/(?:read|expand)\//.test(path) || layerOf(path) === 'http'
    const own = [...names].filter((name) => isShown && /\.own$/.test(name))
    return [...past, ...own.map((name) => `${path}: ${name}`)]
  })

/** Files that import each other in a circle, types or not; each circle once. */
function findCycles(files: readonly SourceFile[]): readonly string[] {
  const targets = new Map(
    files.map(({ path, imports }) => [
      path,
      imports.flatMap(({ from }) => (isRelative(from) ? [resolve(path, from)] : [])),
    ]),
  )
  const cycles = new Set<string>()
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      cycles.add([...trail.slice(start), path].join(' → '))
    } else if (!done.has(path)) {
      for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
      done.add(path)
    }
  }
  for (const { path } of files) visit(path, [])
  return [...cycles]
}

/** Packages that more than one file imports. */
function findSharedPackages(files: readonly SourceFile[]): readonly string[] {
  const users = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    // What the page is made with is everywhere in it, and nowhere else.
    if (path.startsWith('tools/page/app/')) continue
    for (const { from } of imports) {
      if (isRelative(from) || from.startsWith('node:')) continue
      const name = from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/')
      users.set(name, (users.get(name) ?? new Set()).add(path))
    }
  }
  return [...users].flatMap(([name, paths]) =>
    paths.size > 1 ? [`${name}: ${[...paths].sort().join(', ')}`] : [],
  )
}

/** Where only node and those like it go. */
const NODE_FOLDERS = [
  'mounts/',
  'tools/cli/',
  'tools/transfer/',
  'adapters/sql/',
  'adapters/sqlite/',
  'adapters/postgres/',
  // The build runs these.
  'tools/page/bundle-page.ts',
  'tools/page/bundle-texts.ts',
]
const NODE_NAMES = ['Buffer', 'process', '__dirname', '__filename', 'setImmediate']

/** Files that ask `globalThis` whether it is there, and do without where it is not. */
const ASKED_FOR: { readonly [path: string]: string } = {
  'adapters/log/warn-of-held.ts': 'process',
  'core/accounts/auth/threads.ts': 'process',
  'core/create-service.ts': 'process',
  'core/documents/read/print-documents.ts': 'Buffer',
  'core/json/digest.ts': 'process',
  'core/slices.ts': 'setImmediate',
}

/** Adapters in these folders that also run in workers and in browsers. */
const WEB_ADAPTERS = ['d1', 'durable-object', 'libsql', 'sqlite-wasm'].map(
  (name) => `adapters/sqlite/programs/${name}.ts`,
)

/** The files that these import at run time, and all that those import. */
function findReached(files: readonly SourceFile[], from: readonly string[]): ReadonlySet<string> {
  const reached = new Set(from)
  for (const path of reached)
    for (const { from: target, isType } of files.find((file) => file.path === path)?.imports ?? [])
      if (!isType && isRelative(target)) reached.add(resolve(path, target))
  return reached
}

/** What only node has, in a layer that also runs elsewhere. */
function findNodeOnly(files: readonly SourceFile[]): readonly string[] {
  const reached = findReached(files, WEB_ADAPTERS)
  return files.flatMap(({ path, imports, names }) => {
    if (NODE_FOLDERS.some((folder) => path.startsWith(folder)) && !reached.has(path)) return []
    const used = NODE_NAMES.filter((name) => names.has(name) && ASKED_FOR[path] !== name)
    const builtins = imports.flatMap(({ from }) => (from.startsWith('node:') ? [from] : []))
    return [...builtins, ...used].map((name) => `${path}: ${name}`)
  })
}

const WEB_LAYERS = ['http', 'mounts', 'types', 'hooks', 'create-service', 'client', 'insight', 'page']

/** Requests and answers of the web below the layer of HTTP. */
const findWebObjects = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, names }) =>
    WEB_LAYERS.includes(layerOf(path))
      ? []
      : ['Request', 'Response', 'Headers']
          .filter((name) => names.has(name))
          .map((name) => `${path}: ${name}`),
  )

const PURE_LAYERS = [
  'errors',
  'types',
  'json',
  'filter',
  'storage',
  'fields',
  'schema',
  'query',
  'permissions',
  'config',
]

/** A clock or chance where the same input must give the same output. */
const findImpure = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, names }) =>
    PURE_LAYERS.includes(layerOf(path))
      ? ['performance', 'setTimeout', 'crypto', 'Math.random', 'Date.now']
          .filter((name) => names.has(name))
          .map((name) => `${path}: ${name}`)
      : [],
  )

const findDefaultExports = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, hasDefaultExport }) => (hasDefaultExport ? [path] : []))

/** Reads what the rules are about from the text of a file. */
function parse(path: string, text: string): SourceFile {
  const imports: Import[] = []
  const names = new Set<string>()
  let hasDefaultExport = false
  const addImport = (specifier: ts.Node | undefined, isType: boolean, isLate = false): void => {
    if (specifier && ts.isStringLiteralLike(specifier)) imports.push({ from: specifier.text, isType, isLate })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const { importClause } = node
      const bindings = importClause?.namedBindings
      const areTypes =
        bindings !== undefined &&
        ts.isNamedImports(bindings) &&
        bindings.elements.every(({ isTypeOnly }) => isTypeOnly) &&
        importClause?.name === undefined
      addImport(node.moduleSpecifier, importClause?.isTypeOnly === true || areTypes)
    } else if (ts.isExportDeclaration(node)) {
      addImport(node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isImportTypeNode(node)) {
      addImport(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true)
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      addImport(node.arguments[0], false, true)
    } else if (ts.isIdentifier(node)) {
      names.add(node.text)
    } else if (ts.isPropertyAccessExpression(node)) {
      names.add(node.getText().replaceAll(/\s/g, ''))
    }
    hasDefaultExport ||=
      ts.isExportAssignment(node) ||
      (ts.isExportSpecifier(node) && node.name.text === 'default') ||
      (ts.canHaveModifiers(node) &&
        (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword))
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true))
  return { path, imports, hasDefaultExport, names }
}

const parseAll = (texts: { readonly [path: string]: string }): readonly SourceFile[] =>
  Object.entries(texts).map(([path, text]) => parse(path, text))

/** Every file below `src`. */
let files: ReadonlySet<string>
let sources: readonly SourceFile[]
beforeAll(async () => {
  const folder = fileURLToPath(new URL('../../src/', import.meta.url))
  const found = await readdir(folder, { recursive: true })
  files = new Set(found.map((path) => path.replaceAll('\\', '/')))
  const paths = [...files].filter((path) => /(?<!\.d)\.ts$/.test(path)).sort()
  sources = await Promise.all(paths.map(async (path) => parse(path, await readFile(folder + path, 'utf8'))))
})

test('every file belongs to a layer, and every layer has a file', () => {
  expect([...new Set(sources.map(({ path }) => layerOf(path)))].sort()).toEqual(Object.keys(LAYERS).sort())
})

test('every relative import leads to a file', () => {
  const broken = sources.flatMap(({ path, imports }) =>
    imports.flatMap(({ from }) => {
      const [own = '', query] = from.split('?')
      const beside = query ? posix.join(posix.dirname(path), own) : resolve(path, from)
      const target = files.has(`${beside}x`) ? `${beside}x` : beside
      if (isExample(from)) return existsSync(new URL(`../../src/${target}`, import.meta.url)) ? [] : [from]
      return isRelative(from) && !files.has(target) ? [`${path} → ${from}`] : []
    }),
  )
  expect(broken).toEqual([])
})

test('no two layers may import each other, not even by way of others', () => {
  const layers = Object.entries(LAYERS).map(([path, imports]) => ({
    path: `${path}.ts`,
    imports: imports.map((from) => ({ from: `./${from}.js`, isType: false })),
    hasDefaultExport: false,
    names: new Set<string>(),
  }))
  expect(findCycles(layers)).toEqual([])
})

type Rule = readonly [
  title: string,
  find: (files: readonly SourceFile[]) => readonly string[],
  bad: { readonly [path: string]: string },
  found: readonly string[],
]

const RULES: readonly Rule[] = [
  [
    'arrows between layers point one way',
    findWrongArrows,
    {
      'core/filter/matches.ts': `import { parse } from '../query/parse.js'`,
      'core/query/parse.ts': `import { type Filter, not } from '../filter/filter.js'\nimport './operand.js'`,
      'core/query/operand.ts': `const { findRoute } = await import('../http/router.js')`,
      'core/fields/schema/field.ts': `export { list } from '../../request/list.js'`,
      'core/types.ts': `import type { JsonObject } from './filter/read-path.js'`,
      'core/request/list.ts': `let answer: import('../http/answer.js').Answer\nimport { plan } from '../config/plan.js'`,
      'adapters/memory/rows.ts': `import '../sqlite/rows.js'\nimport './order.js'\nimport type {} from '../../core/storage.js'\nimport type {} from '../../core/types.js'`,
      'adapters/sqlite/rows.ts': `import '../sql/dialect.js'`,
      'adapters/sqlite/read/rows.ts': `import '../rows.js'\nimport '../../sql/dialect.js'\nimport '../../memory/rows.js'`,
      'adapters/sql/dialect.ts': `import '../sqlite/rows.js'`,
      'mounts/node.ts': `import { list } from '../core/request/list.js'\nimport { answer } from '../core/http/answer.js'`,
      'tools/cli/main.ts': `import '../testing/index.js'`,
      'core/create-service.ts': `import { createDescribe } from '../tools/openapi/create-describe.js'\nconst late = () => import('../tools/openapi/create-describe.js')`,
      'elsewhere/file.ts': `import { ServiceError } from '../core/errors.js'`,
    },
    [
      'core/filter/matches.ts → core/query/parse.ts',
      'core/query/operand.ts → core/http/router.ts',
      'core/fields/schema/field.ts → core/request/list.ts',
      'core/types.ts → core/filter/read-path.ts',
      'core/request/list.ts → core/http/answer.ts',
      'core/request/list.ts → core/config/plan.ts',
      'adapters/memory/rows.ts → adapters/sqlite/rows.ts',
      'adapters/memory/rows.ts → core/types.ts',
      'adapters/sqlite/read/rows.ts → adapters/memory/rows.ts',
      'adapters/sql/dialect.ts → adapters/sqlite/rows.ts',
      'mounts/node.ts → core/request/list.ts',
      'tools/cli/main.ts → tools/testing/index.ts',
      'core/create-service.ts → tools/openapi/create-describe.ts',
      'elsewhere/file.ts → core/errors.ts',
    ],
  ],
  [
    'the server imports no tools, but for those that it loads late',
    findTools,
    {
      'core/http/respond.ts': `import type { ApiDocument } from '../../tools/openapi/describe-service.js'`,
      'core/create-service.ts': `const late = () => import('../tools/openapi/create-describe.js')`,
      'tools/cli/main.ts': `import { explain } from '../insight/index.js'`,
    },
    ['core/http/respond.ts → tools/openapi/describe-service.ts'],
  ],
  [
    'arrows between the rooms of the service point one way',
    findWrongRooms,
    {
      'core/request/store.ts': `import '../documents/read/read-page.js'\nimport './deadline.js'`,
      'core/documents/read/list.ts': `import '../../request/store.js'\nimport { write } from '../write/written.js'`,
      'core/documents/write/rules/choose-rule.ts': `import '../../../request/call.js'\nimport '../../../accounts/login.js'`,
      'core/accounts/login.ts': `import '../documents/write/stored-document.js'\nimport '../start/seed.js'`,
    },
    [
      'core/request/store.ts → core/documents/read/read-page.ts',
      'core/documents/read/list.ts → core/documents/write/written.ts',
      'core/documents/write/rules/choose-rule.ts → core/accounts/login.ts',
      'core/accounts/login.ts → core/start/seed.ts',
    ],
  ],
  [
    'storage has one door, and what a caller gets to see is read with an access',
    findBackDoors,
    {
      'core/request/store.ts': `export const createStore = (adapter: StorageAdapter) => adapter.list`,
      'core/documents/read/list.ts': `const { list }: StorageAdapter = call.store.own('users')`,
      'core/documents/write/delete.ts': `call.store.own('users')`,
      'core/http/respond.ts': `import type { StorageAdapter } from '../storage.js'`,
    },
    [
      'core/documents/read/list.ts: StorageAdapter',
      'core/documents/read/list.ts: call.store.own',
      'core/http/respond.ts: StorageAdapter',
    ],
  ],
  [
    'files do not import each other in a circle',
    findCycles,
    {
      'core/filter/a.ts': `import { b } from './b.js'`,
      'core/filter/b.ts': `import { c } from './c.js'`,
      'core/filter/c.ts': `import type { A } from './a.js'`,
      'core/filter/d.ts': `import { a } from './a.js'`,
      'core/filter/self.ts': `export { own } from './self.js'`,
    },
    [
      'core/filter/a.ts → core/filter/b.ts → core/filter/c.ts → core/filter/a.ts',
      'core/filter/self.ts → core/filter/self.ts',
    ],
  ],
  [
    'a package is imported in one file',
    findSharedPackages,
    {
      'core/filter/a.ts': `import { sha256 } from '@noble/hashes/sha2.js'\nimport Loki from 'lokijs'`,
      'core/filter/b.ts': `import { bytesToHex } from '@noble/hashes/utils.js'\nimport addFormats from 'ajv-formats'`,
      'core/filter/c.ts': `import type { Ajv } from 'ajv'\nimport 'node:fs'`,
      'core/filter/d.ts': `import 'node:fs'\n// import Loki from 'lokijs'`,
    },
    ['@noble/hashes: core/filter/a.ts, core/filter/b.ts'],
  ],
  [
    'what only node has stays in the mounts, the command and the databases',
    findNodeOnly,
    {
      'core/accounts/auth/token.ts': `import { randomBytes } from 'node:crypto'\nexport const token = Buffer.from(randomBytes(32))`,
      'core/http/body.ts': `// a Buffer would do\nexport const text = 'process'\nexport const env = globalThis.process`,
      'core/create-service.ts': `const env = globalThis.process?.env\nsetImmediate(env)`,
      'mounts/node.ts': `import { createServer } from 'node:http'\nBuffer.from('')`,
      'adapters/sqlite/programs/d1.ts': `import { measure } from '../../sql/read/measure.js'\nimport type { File } from '../file.js'`,
      'adapters/sql/read/measure.ts': `export const measure = Buffer.byteLength`,
      'adapters/sqlite/file.ts': `import 'node:fs'`,
    },
    [
      'core/accounts/auth/token.ts: node:crypto',
      'core/accounts/auth/token.ts: Buffer',
      'core/http/body.ts: process',
      'core/create-service.ts: setImmediate',
      'adapters/sql/read/measure.ts: Buffer',
    ],
  ],
  [
    'below HTTP nothing knows a request or an answer of the web',
    findWebObjects,
    {
      'core/request/list.ts': `export const list = (request: Request): Response => Response.json([])`,
      'core/http/respond.ts': `export const respond = (request: Request) => new Response()`,
    },
    ['core/request/list.ts: Request', 'core/request/list.ts: Response'],
  ],
  [
    'what is computed from a configuration or a query has no clock and no chance',
    findImpure,
    { 'core/query/now.ts': 'export const now = () => Date.now()', 'core/request/now.ts': 'Date.now()' },
    ['core/query/now.ts: Date.now'],
  ],
  [
    'nothing is exported by default',
    findDefaultExports,
    {
      'core/filter/a.ts': `export default function a() {}`,
      'core/filter/b.ts': `const b = 1\nexport { b as default }`,
      'core/filter/c.ts': `export default 3`,
      'core/filter/d.ts': `export { default } from './c.js'`,
      'core/filter/e.ts': `switch (1) { default: }\nexport const text = 'export default'`,
      'core/filter/f.ts': `import c from './c.js'\nexport { c }`,
    },
    ['core/filter/a.ts', 'core/filter/b.ts', 'core/filter/c.ts', 'core/filter/d.ts'],
  ],
]

describe.each(RULES)('%s', (_, find, bad, found) => {
  test('in the sources', () => expect(find(sources)).toEqual([]))
  test('and a breach would be found', () => expect(find(parseAll(bad))).toEqual(found))
})
