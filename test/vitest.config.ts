import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { bundlePage } from '../src/tools/page/bundle-page.js'
import { isLong, isQuick, TIER } from './support/tier.js'
import { LEFT_TO_FULL, listChanged, listUnchanged, readSeed } from './tiers.js'

// Workers and what they start take these from here.
process.env.TIER = TIER
process.env.SEED = String(readSeed(isLong))
const changed = isQuick ? listChanged() : undefined
if (changed) process.env.CHANGED = changed.join('\n')

const leftOut = isQuick ? [...LEFT_TO_FULL, ...listUnchanged(changed)] : []

/** The files that take longest, longest first: begun last, one of them would keep one worker alone. */
const LONGEST: readonly string[] = [
  'durability/heap.test.ts',
  'adapters/sqlite.test.ts',
  'adapters/postgres.test.ts',
  'property/non-interference.test.ts',
  'property/write-non-interference.test.ts',
  'property/rich-rights.test.ts',
  'cli/cli.test.ts',
  'packaging/extending.test.ts',
  'mutants/mutants.test.ts',
  'property/growth.test.ts',
  'property/changes.test.ts',
  'mutants/adapters.test.ts',
  'property/interleaved.test.ts',
  'contract/streams.test.ts',
  'adapters/memory.test.ts',
  'property/related.test.ts',
  'property/claims.test.ts',
  'security/kept-answers.test.ts',
  'property/batches.test.ts',
  'property/insight-diff.test.ts',
  'examples/custom-adapter.test.ts',
  'adapters/sqlite-slices.test.ts',
  'mutants/batches.test.ts',
  'mutants/relations.test.ts',
  'examples/teams-search.test.ts',
  'property/references.test.ts',
  'contract/large-bodies.test.ts',
  'durability/postgres-connections.test.ts',
  'contract/batch.test.ts',
  'cli/init.test.ts',
  'cli/watch.test.ts',
  'contract/large-answers.test.ts',
  'durability/references.test.ts',
  'durability/processes.test.ts',
  'durability/accounts.test.ts',
  'security/floods.test.ts',
  'durability/kill.test.ts',
  'durability/consumers.test.ts',
  'durability/serial-order.test.ts',
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}`))
  return place < 0 ? LONGEST.length : place
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}

/** Mutants are found by worlds that are known to show them: their seed is always the same. */
const MUTANTS = ['test/mutants/*.test.ts']

/** Files that put other modules in the place of some, or count what runs: they load theirs alone. All others share it. */
const ALONE = [
  'test/adapters/postgres.test.ts',
  'test/adapters/sqlite.test.ts',
  'test/adapters/sqlite-once.test.ts',
  'test/contract/edge-runtimes.test.ts',
  'test/durability/postgres-silence.test.ts',
  'test/packaging/way-of-a-request.test.ts',
  'test/property/growth.test.ts',
  'test/security/stored-hashes.test.ts',
  'test/unit/adapters/memory/heap.test.ts',
  'test/unit/core/http/kept-work.test.ts',
  'test/unit/core/kept/heap.test.ts',
  'test/unit/tools/insight/diff/decisions.test.ts',
]

const root = fileURLToPath(new URL('..', import.meta.url))

const pages = new Map<string, ReturnType<typeof bundlePage>>()

/** The page as the build makes it, once for all. */
const pageDocument = {
  name: 'page-document',
  enforce: 'pre' as const,
  async resolveId(source: string, importer: string | undefined) {
    if (!source.endsWith('?document') || importer === undefined) return undefined
    return `\0${join(dirname(importer), source)}`
  },
  async load(id: string) {
    if (!id.startsWith('\0') || !id.endsWith('?document')) return undefined
    const entry = id.slice(1, -'?document'.length)
    const page = pages.get(entry) ?? bundlePage(entry)
    pages.set(entry, page)
    return `export default ${JSON.stringify(await page)}`
  },
}

/** In the place of what answers requests, what judges its answers too. */
const judgedAnswers = {
  name: 'judged-answers',
  enforce: 'pre' as const,
  resolveId: (source: string, importer: string | undefined) =>
    source === './http/respond.js' && importer === join(root, 'src/core/create-service.ts')
      ? join(root, 'test/support/judged-respond.ts')
      : undefined,
}

interface Files {
  readonly include: string[]
  readonly exclude: string[]
  readonly env?: { readonly [name: string]: string }
}

const projectOf = (name: string, isolate: boolean, files: Files) => ({
  root,
  plugins: [pageDocument, judgedAnswers],
  test: {
    name,
    isolate,
    ...files,
    setupFiles: ['test/support/judged-setup.ts'],
    // No test is about how fast the machine is; long counts take as long as they take.
    testTimeout: isLong ? 0 : 900_000,
    hookTimeout: 900_000,
    // Worlds by the thousand live for a moment each: what is new is looked through less often.
    execArgv: ['--max-semi-space-size=64'],
  },
})

export default defineConfig({
  root,
  test: {
    sequence: { sequencer: LongestFirst },
    maxWorkers: 2,
    reporters: ['default', './test/summary-reporter.ts'],
    // Of a file of mutants, none may be chosen.
    passWithNoTests: isQuick,
    projects: [
      projectOf('mutants', true, { include: MUTANTS, exclude: leftOut, env: { SEED: '1' } }),
      projectOf('alone', true, { include: ALONE, exclude: leftOut }),
      projectOf('together', false, {
        include: ['{test,examples}/**/*.test.ts'],
        exclude: [...MUTANTS, ...ALONE, ...leftOut],
      }),
    ],
  },
})
