import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'
import type * as Package from '../../src/index.js'
import { isOfStart } from '../support/stored.js'

const root = new URL('../../', import.meta.url)
const dist = fileURLToPath(new URL('dist/', root))

/** Every name in the sources. */
const names = new Set<string>()

beforeAll(async () => {
  const files = (await readdir(new URL('src/', root), { recursive: true })).filter((file) =>
    /\.ts$/.test(file),
  )
  for (const file of files) {
    const source = ts.createSourceFile(file, await readFile(new URL(`src/${file}`, root), 'utf8'), 99)
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.add(node.text)
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
})

/** The error that the service logs if an adapter throws, thrown by `list`, which `GET /notes` calls. */
async function throwWithin({ createCollectionService, createMemoryAdapter }: typeof Package): Promise<Error> {
  const causes: unknown[] = []
  const adapter = createMemoryAdapter()
  const list: typeof adapter.list = (name, query) => {
    if (isOfStart(query)) return adapter.list(name, query)
    throw new Error('broken')
  }
  const notes = { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } as const
  const service = createCollectionService(
    { collections: { notes } },
    { ...adapter, list },
    { logger: { error: (_message, { cause }: { cause?: unknown } = {}) => void causes.push(cause) } },
  )
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 30
  const { status } = await service(new Request('http://localhost/notes'))
  Error.stackTraceLimit = limit
  expect(status).toBe(500)
  const [cause] = causes
  if (!(cause instanceof Error)) throw new Error('no error was logged')
  return cause
}

/** The functions that a stack trace names in files of the package, without their classes. */
const readFunctions = ({ stack = '' }: Error): readonly string[] =>
  stack
    .split('\n')
    .filter((line) => line.includes(dist))
    .flatMap((line) => {
      const [, name = ''] = /^ +at (?:async )?(\S+) (?:\[as \w+\] )?\(/.exec(line) ?? []
      return name === '' ? [] : [name.split('.').at(-1) ?? '']
    })

/** A bundler appends a number to a name that several modules of a bundle have. */
const isOfSource = (name: string): boolean => names.has(name) || names.has(name.replace(/\d+$/, ''))

const load = {
  import: (): Promise<typeof Package> => import(new URL('dist/index.js', root).href),
  require: async (): Promise<typeof Package> => createRequire(root)('./dist/index.cjs'),
}

test.each(['import', 'require'] as const)('a stack trace names functions of the source: %s', async (way) => {
  const functions = readFunctions(await throwWithin(await load[way]()))
  expect(functions.length).toBeGreaterThan(10)
  expect(functions.filter((name) => !isOfSource(name))).toEqual([])
  // A minifier would give short names, of which the sources have some too.
  expect(functions.filter((name) => name.length > 4).length).toBeGreaterThan(5)
})

/** Modules of the package; other files are texts that it serves. */
const readModules = async () => {
  const files = (await readdir(dist)).filter((file) => /(?<!-text|-document)\.c?js$/.test(file))
  return Promise.all(
    files.map(async (file) =>
      ts.createSourceFile(file, await readFile(`${dist}${file}`, 'utf8'), ts.ScriptTarget.Latest),
    ),
  )
}

/** Files of the package that are loaded by `import()`. */
function findImports(module: ts.SourceFile): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      /^import\(['"]\.\//.test(node.getText(module))
    )
      found.push(`${module.fileName}: ${node.getText(module)}`)
    ts.forEachChild(node, visit)
  }
  visit(module)
  return found
}

test('scripts load no file of the package by import(), which Jest does not have there', async () => {
  const modules = await readModules()
  const [scripts, others] = [/\.cjs$/, /\.js$/].map((end) =>
    modules.filter(({ fileName }) => end.test(fileName)),
  )
  expect(scripts?.flatMap(findImports)).toEqual([])
  expect(others?.flatMap(findImports)).not.toEqual([])
})
