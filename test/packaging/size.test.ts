import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const budgetFile = new URL('size-budget.json', import.meta.url)

/** An entry may grow by so much of its budget before somebody has to mean it. */
const TOLERANCE = 0.03

/** Entries that use what only node has. */
const ON_NODE = new Set(['./node', './testing', './sqlite', './postgres', './transfer'])

interface Size {
  readonly minified: number
  readonly gzipped: number
}
type Sizes = { readonly [subpath: string]: Size }

interface Esbuild {
  build(options: object): Promise<{ readonly outputFiles: readonly { readonly contents: Uint8Array }[] }>
}

// tsup brings it, and builds with it.
const esbuild: Esbuild = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')

/** What an entry brings by itself: the packages that it needs are left out. */
async function measure(file: string, platform: 'node' | 'browser'): Promise<Size> {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [file],
    bundle: true,
    minify: true,
    packages: 'external',
    format: 'esm',
    target: 'es2022',
    platform,
    write: false,
    legalComments: 'none',
    logLevel: 'error',
  })
  const [output] = outputFiles
  if (!output) throw new Error(`nothing was built of ${file}`)
  return { minified: output.contents.length, gzipped: gzipSync(output.contents, { level: 9 }).length }
}

async function measureAll(): Promise<Sizes> {
  const { exports } = JSON.parse(await readFile(`${root}/package.json`, 'utf8'))
  const sizes: [string, Size][] = []
  for (const [subpath, target] of Object.entries<{ readonly import?: { readonly default: string } }>(
    exports,
  )) {
    if (!target.import) continue
    const platform = ON_NODE.has(subpath) ? 'node' : 'browser'
    sizes.push([subpath, await measure(target.import.default, platform)])
  }
  return Object.fromEntries(sizes)
}

const readBudget = async (): Promise<{ readonly [subpath: string]: number }> =>
  JSON.parse(await readFile(budgetFile, 'utf8'))

test('no entry grows without somebody meaning it', async () => {
  const sizes = await measureAll()
  if (process.env.UPDATE_SIZES) {
    const gzipped = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, size.gzipped]))
    await writeFile(budgetFile, `${JSON.stringify(gzipped, null, 2)}\n`)
  }
  const budget = await readBudget()
  const change = (subpath: string, { gzipped }: Size): number => gzipped / (budget[subpath] ?? 0) - 1
  console.table(
    Object.fromEntries(
      Object.entries(sizes).map(([subpath, size]) => [
        subpath,
        { ...size, budget: budget[subpath], change: `${(100 * change(subpath, size)).toFixed(1)} %` },
      ]),
    ),
  )
  const grown = Object.entries(sizes).filter(([subpath, size]) => change(subpath, size) > TOLERANCE)
  const told = 'if it is meant, UPDATE_SIZES=1 npx vitest run test/packaging/size.test.ts'
  expect(
    grown.map(([subpath]) => subpath),
    `more than ${100 * TOLERANCE} % over the budget; ${told}`,
  ).toEqual([])
  expect(Object.keys(budget), `entries of the budget; ${told}`).toEqual(Object.keys(sizes))
})
