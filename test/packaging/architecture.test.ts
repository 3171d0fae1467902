import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { LAYERS } from './layers.js'

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
  ['service', 'hooks'],
  ['http', 'hooks'],
  ['create-collection-service', 'hooks'],
  ['http', 'config'],
  // What the client needs at run time is counted in bytes.
  ['client', 'errors'],
]

/** Arrows that only `import()` may take: a service that describes nothing does not load them. */
const LATE_ARROWS: readonly (readonly [layer: string, target: string])[] = [
  ['create-collection-service', 'openapi'],
]

const layerOf = (path: string): string => path.replace(/\.ts$/, '').split('/')[0] ?? ''

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
  'service/start': ['service', 'service/store', 'service/write', 'service/changes'],
}

const roomOf = (path: string): string =>
  path
    .split('/')
    .slice(0, 2)
    .join('/')
    .replace(/\/[^/]*\.ts$/, '')

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
  'storage.ts',
  'index.ts',
  'create-collection-service.ts',
  'service/store.ts',
  'service/observe/observed-storage.ts',
  'service/start/',
  'cli/',
  'testing/',
  'adapters/',
]

/** Ways to the storage beside the door, and reads without an access where a caller gets to see what was read. */
const findBackDoors = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, names }) => {
    const isDoor = DOORS.some((door) => path.startsWith(door))
    const past = !isDoor && names.has('StorageAdapter') ? [`${path}: StorageAdapter`] : []
    const isShown = path.startsWith('service/read/') || path.startsWith('http/')
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
    if (path.startsWith('page/app/')) continue
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
  ...['mounts/', 'cli/', 'adapters/sql/', 'adapters/sqlite/', 'adapters/postgres/'],
  // The build runs these.
  'page/bundle-page.ts',
  'page/bundle-texts.ts',
]
const NODE_NAMES = ['Buffer', 'process', '__dirname', '__filename', 'setImmediate']

/** Files that ask `globalThis` whether it is there, and do without where it is not. */
const ASKED_FOR: { readonly [path: string]: string } = {
  'adapters/log/warn-of-held.ts': 'process',
  'auth/default-hasher.ts': 'process',
  'auth/token.ts': 'process',
  'create-collection-service.ts': 'process',
  'json/bytes.ts': 'Buffer',
  'slices.ts': 'setImmediate',
}

/** What only node has, in a layer that also runs elsewhere. */
function findNodeOnly(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, imports, names }) => {
    if (NODE_FOLDERS.some((folder) => path.startsWith(folder))) return []
    const used = NODE_NAMES.filter((name) => names.has(name) && ASKED_FOR[path] !== name)
    const builtins = imports.flatMap(({ from }) => (from.startsWith('node:') ? [from] : []))
    return [...builtins, ...used].map((name) => `${path}: ${name}`)
  })
}

const WEB_LAYERS = [
  'http',
  'mounts',
  'types',
  'hooks',
  'create-collection-service',
  'client',
  'insight',
  'page',
]

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
      'filter/matches.ts': `import { parse } from '../query/parse.js'`,
      'query/parse.ts': `import { type Filter, not } from '../filter/filter.js'\nimport './operand.js'`,
      'query/operand.ts': `const { findRoute } = await import('../http/router.js')`,
      'schema/field.ts': `export { list } from '../service/list.js'`,
      'types.ts': `import type { JsonObject } from './filter/read-path.js'`,
      'service/list.ts': `let answer: import('../http/answer.js').Answer\nimport { plan } from '../config/plan.js'`,
      'adapters/memory/rows.ts': `import '../sqlite/rows.js'\nimport './order.js'\nimport type {} from '../../storage.js'\nimport type {} from '../../types.js'`,
      'adapters/sqlite/rows.ts': `import '../sql/dialect.js'`,
      'adapters/sqlite/read/rows.ts': `import '../rows.js'\nimport '../../sql/dialect.js'\nimport '../../memory/rows.js'`,
      'adapters/sql/dialect.ts': `import '../sqlite/rows.js'`,
      'mounts/node.ts': `import { list } from '../service/list.js'\nimport { answer } from '../http/answer.js'`,
      'cli/main.ts': `import '../testing/index.js'`,
      'create-collection-service.ts': `import { createDescribe } from './openapi/create-describe.js'\nconst late = () => import('./openapi/create-describe.js')`,
      'elsewhere/file.ts': `import { ServiceError } from '../errors.js'`,
    },
    [
      'filter/matches.ts → query/parse.ts',
      'query/operand.ts → http/router.ts',
      'schema/field.ts → service/list.ts',
      'types.ts → filter/read-path.ts',
      'service/list.ts → http/answer.ts',
      'service/list.ts → config/plan.ts',
      'adapters/memory/rows.ts → adapters/sqlite/rows.ts',
      'adapters/memory/rows.ts → types.ts',
      'adapters/sqlite/read/rows.ts → adapters/memory/rows.ts',
      'adapters/sql/dialect.ts → adapters/sqlite/rows.ts',
      'mounts/node.ts → service/list.ts',
      'cli/main.ts → testing/index.ts',
      'create-collection-service.ts → openapi/create-describe.ts',
      'elsewhere/file.ts → errors.ts',
    ],
  ],
  [
    'arrows between the rooms of the service point one way',
    findWrongRooms,
    {
      'service/store.ts': `import './read/read-page.js'\nimport './deadline.js'`,
      'service/read/list.ts': `import '../store.js'\nimport { write } from '../write/written.js'`,
      'service/write/rules/choose-rule.ts': `import '../../call.js'\nimport '../../accounts/login.js'`,
      'service/accounts/login.ts': `import '../write/stored-document.js'\nimport '../start/seed.js'`,
    },
    [
      'service/store.ts → service/read/read-page.ts',
      'service/read/list.ts → service/write/written.ts',
      'service/write/rules/choose-rule.ts → service/accounts/login.ts',
      'service/accounts/login.ts → service/start/seed.ts',
    ],
  ],
  [
    'storage has one door, and what a caller gets to see is read with an access',
    findBackDoors,
    {
      'service/store.ts': `export const createStore = (adapter: StorageAdapter) => adapter.list`,
      'service/read/list.ts': `const { list }: StorageAdapter = call.store.own('users')`,
      'service/write/delete.ts': `call.store.own('users')`,
      'http/respond.ts': `import type { StorageAdapter } from '../storage.js'`,
    },
    [
      'service/read/list.ts: StorageAdapter',
      'service/read/list.ts: call.store.own',
      'http/respond.ts: StorageAdapter',
    ],
  ],
  [
    'files do not import each other in a circle',
    findCycles,
    {
      'filter/a.ts': `import { b } from './b.js'`,
      'filter/b.ts': `import { c } from './c.js'`,
      'filter/c.ts': `import type { A } from './a.js'`,
      'filter/d.ts': `import { a } from './a.js'`,
      'filter/self.ts': `export { own } from './self.js'`,
    },
    ['filter/a.ts → filter/b.ts → filter/c.ts → filter/a.ts', 'filter/self.ts → filter/self.ts'],
  ],
  [
    'a package is imported in one file',
    findSharedPackages,
    {
      'filter/a.ts': `import { sha256 } from '@noble/hashes/sha2.js'\nimport Loki from 'lokijs'`,
      'filter/b.ts': `import { bytesToHex } from '@noble/hashes/utils.js'\nimport addFormats from 'ajv-formats'`,
      'filter/c.ts': `import type { Ajv } from 'ajv'\nimport 'node:fs'`,
      'filter/d.ts': `import 'node:fs'\n// import Loki from 'lokijs'`,
    },
    ['@noble/hashes: filter/a.ts, filter/b.ts'],
  ],
  [
    'what only node has stays in the mounts, the command and the databases',
    findNodeOnly,
    {
      'auth/token.ts': `import { randomBytes } from 'node:crypto'\nexport const token = Buffer.from(randomBytes(32))`,
      'http/body.ts': `// a Buffer would do\nexport const text = 'process'\nexport const env = globalThis.process`,
      'create-collection-service.ts': `const env = globalThis.process?.env\nsetImmediate(env)`,
      'mounts/node.ts': `import { createServer } from 'node:http'\nBuffer.from('')`,
    },
    [
      'auth/token.ts: node:crypto',
      'auth/token.ts: Buffer',
      'http/body.ts: process',
      'create-collection-service.ts: setImmediate',
    ],
  ],
  [
    'below HTTP nothing knows a request or an answer of the web',
    findWebObjects,
    {
      'service/list.ts': `export const list = (request: Request): Response => Response.json([])`,
      'http/respond.ts': `export const respond = (request: Request) => new Response()`,
    },
    ['service/list.ts: Request', 'service/list.ts: Response'],
  ],
  [
    'what is computed from a configuration or a query has no clock and no chance',
    findImpure,
    { 'query/now.ts': 'export const now = () => Date.now()', 'service/now.ts': 'Date.now()' },
    ['query/now.ts: Date.now'],
  ],
  [
    'nothing is exported by default',
    findDefaultExports,
    {
      'filter/a.ts': `export default function a() {}`,
      'filter/b.ts': `const b = 1\nexport { b as default }`,
      'filter/c.ts': `export default 3`,
      'filter/d.ts': `export { default } from './c.js'`,
      'filter/e.ts': `switch (1) { default: }\nexport const text = 'export default'`,
      'filter/f.ts': `import c from './c.js'\nexport { c }`,
    },
    ['filter/a.ts', 'filter/b.ts', 'filter/c.ts', 'filter/d.ts'],
  ],
]

describe.each(RULES)('%s', (_, find, bad, found) => {
  test('in the sources', () => expect(find(sources)).toEqual([]))
  test('and a breach would be found', () => expect(find(parseAll(bad))).toEqual(found))
})
