import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * What each tier runs. `long` (`npm run test:long`) names its folders in `package.json`; `full` (`npm run test:full`) runs
 * everything; `quick` (`npm test`) leaves out what follows, plays a quarter of the random rounds (`test/support/tier.ts`),
 * and runs mutants, and the tests of one storage beside the kit, only if their area has changed.
 */
export const LEFT_TO_FULL: readonly string[] = [
  // Several processes, lost connections and killed servers; bytes of heap.
  ...readdirSync(fileURLToPath(new URL('durability', import.meta.url)))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/durability/${name}`),
  'test/unit/adapters/memory/heap.test.ts',
  'test/unit/core/kept/heap.test.ts',
  'test/contract/large-behind.test.ts',
  'test/cli/processes.test.ts',
  'test/examples/custom-adapter.test.ts',
  'test/packaging/extending.test.ts',
  // Pairs that other random tests draw too, among others.
  'test/property/rich-rights.test.ts',
]

/** The folder of tests of one storage each, beside those of the kit, and the area that they test. */
const STORAGES = {
  tests: 'test/adapters',
  kit: /^(?:memory|sqlite|postgres)\.test\.ts$/,
  area: 'src/adapters/',
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** What git says; `undefined` where there is no git, no such commit, or nothing. */
function askGit(...args: readonly string[]): string | undefined {
  try {
    return (
      execFileSync('git', args, {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim() || undefined
    )
  } catch {
    return undefined
  }
}

/** The seed of all random tests: `SEED`, or the beginning of the hash of HEAD, or 1 without git; of long tests, another one each time. */
export function readSeed(isLong: boolean): number {
  const { SEED = '' } = process.env
  if (SEED !== '') {
    if (/^\d{1,10}$/.test(SEED)) return Number(SEED)
    throw new Error(`SEED has to be a whole number: ${SEED}`)
  }
  if (isLong) return 1 + (Date.now() % 2 ** 28)
  return Number.parseInt(askGit('rev-parse', 'HEAD')?.slice(0, 7) ?? '1', 16)
}

/**
 * The files that differ from `origin/main`, or, where nothing does, from the commit before HEAD; what is not committed is
 * among them. `undefined` where git knows neither.
 */
export function listChanged(): readonly string[] | undefined {
  const added = askGit('ls-files', '--others', '--exclude-standard')?.split('\n') ?? []
  for (const base of ['origin/main', 'HEAD~1']) {
    const changed = askGit('diff', '--name-only', base)?.split('\n')
    if (changed) return [...changed, ...added]
  }
  return undefined
}

/** A module as a mutant names it, from its own folder, or a folder, which ends in a slash. */
type Area = string

/** Whether an area has changed: a file of the module's folder, or one below a folder. */
export function hasChanged(area: Area, changed: readonly string[]): boolean {
  const path = area.replace(/^(?:\.\.\/)+/, '')
  if (path.endsWith('/')) return changed.some((file) => file.startsWith(path))
  return changed.some((file) => /\.tsx?$/.test(file) && dirname(file) === dirname(path))
}

/** The areas that a test of mutants names, but for what it only imports. */
export function readAreas(text: string): readonly Area[] {
  const folders = new Map(
    [...text.matchAll(/const (\w+) = '((?:\.\.\/)+[\w/]+)'/g)].map(([, name, path]) => [name, path]),
  )
  const named = text.replace(/\$\{(\w+)\}/g, (all, name) => folders.get(name) ?? all)
  return named.match(/(?<=(?<!from |import\()['`])(?:\.\.\/)+(?:src|examples)\/[\w/.-]+(?=['`])/g) ?? []
}

/** The tests of mutants and of storages whose areas have not changed; none if git does not know what has. */
export function listUnchanged(changed: readonly string[] | undefined): readonly string[] {
  if (changed === undefined) return []
  return [...listUnchangedMutants(changed), ...listUnchangedStorages(changed)]
}

function listUnchangedStorages(changed: readonly string[]): readonly string[] {
  if (hasChanged(STORAGES.area, changed)) return []
  return readdirSync(`${root}${STORAGES.tests}`)
    .filter((name) => name.endsWith('.test.ts') && !STORAGES.kit.test(name))
    .map((name) => `${STORAGES.tests}/${name}`)
    .filter((file) => !changed.includes(file))
}

function listUnchangedMutants(changed: readonly string[]): readonly string[] {
  return readdirSync(`${root}test/mutants`)
    .map((name) => `test/mutants/${name}`)
    .filter((file) => file.endsWith('.test.ts') && !changed.includes(file))
    .filter((file) => {
      const areas = readAreas(readFileSync(`${root}${file}`, 'utf8'))
      return !areas.some((area) => hasChanged(area, changed))
    })
}
