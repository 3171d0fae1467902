import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** What keeps the house one that can be walked through: `src/README.md`, "Measures". */

const MAX_PARAMETERS = 4

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

interface File {
  /** Relative to the root. */
  readonly path: string
  readonly text: string
}

async function readFiles(folder: string): Promise<readonly File[]> {
  const names = await readdir(ROOT + folder, { recursive: true })
  const paths = names
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => /\.ts$/.test(path))
  return Promise.all(paths.sort().map(async (path) => ({ path, text: await readFile(ROOT + path, 'utf8') })))
}

/** What is found of the nodes of some files, with the line of each. */
const findNodes = (
  files: readonly File[],
  find: (node: ts.Node) => string | number | undefined,
): readonly string[] =>
  files.flatMap(({ path, text }) => {
    const found: string[] = []
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true)
    const visit = (node: ts.Node): void => {
      const what = find(node)
      if (what !== undefined) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
        found.push(`${path}:${line + 1}: ${what}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
    return found
  })

/** Functions that take too much. */
const findGreedy = (files: readonly File[]): readonly string[] =>
  findNodes(files, (node) =>
    ts.isFunctionLike(node) && node.parameters.length > MAX_PARAMETERS ? node.parameters.length : undefined,
  )

/** Literals with getters that are made with a service, a connection, a collection or an index: few, and kept. */
const MADE_ONCE: readonly string[] = [
  'src/adapters/memory/rows.ts',
  'src/adapters/postgres/connection/hosts.ts',
  'src/core/filter/pattern/pattern-store.ts',
  'src/core/changes/streams.ts',
  'src/core/start/seed-when-empty.ts',
]

/**
 * Getters of literals that a function makes. V8 keeps a shape for each of these literals, and with it all that its
 * functions see, until it collects everything: what requests make so stays long after them.
 */
const findKeeping = (files: readonly File[]): readonly string[] =>
  findNodes(
    files.filter(({ path }) => !MADE_ONCE.includes(path)),
    (node) =>
      ts.isGetAccessor(node) &&
      ts.isObjectLiteralExpression(node.parent) &&
      ts.findAncestor(node.parent, ts.isFunctionLike)
        ? node.name.getText()
        : undefined,
  )

test('no function takes more than four parameters', async () => {
  expect(findGreedy(await readFiles('src'))).toEqual([])
})

test('what requests make has no getters of its own', async () => {
  const files = await readFiles('src')
  expect(findKeeping(files)).toEqual([])
  const paths = findKeeping(files.map((file) => ({ ...file, path: `src/elsewhere/${file.path}` })))
  expect(new Set(paths.map((found) => found.replace(/^src\/elsewhere\/|:.*$/g, '')))).toEqual(
    new Set(MADE_ONCE),
  )
})

test('and what is not so would be found', () => {
  const greedy = { path: 'src/b.ts', text: 'const f = (a, b, c, d, e) => {}\nfunction g(a, b, c, d) {}' }
  expect(findGreedy([greedy])).toEqual(['src/b.ts:1: 5'])
  const keeping = {
    path: 'src/c.ts',
    text: 'const once = { get a() {} }\nclass B { get b() {} }\nconst make = () => ({ get c() {} })',
  }
  expect(findKeeping([keeping])).toEqual(['src/c.ts:3: c'])
})
