import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, longest first: begun last, one of them would keep one worker alone. */
const LONGEST: readonly string[] = [
  'adapters/postgres.test.ts',
  'adapters/sqlite.test.ts',
  'cli/cli.test.ts',
  'contract/streams.test.ts',
  'mutants/adapters.test.ts',
  'property/write-non-interference.test.ts',
  'property/non-interference.test.ts',
  'mutants/mutants.test.ts',
  'durability/processes.test.ts',
  'examples/custom-adapter.test.ts',
  'durability/postgres-connections.test.ts',
  'durability/kill.test.ts',
  'cli/watch.test.ts',
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

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: { sequence: { sequencer: LongestFirst } },
})
