import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** So many files are told. */
const LONGEST = Number(process.env.LONGEST ?? 15)

const { TIER = 'full', SEED = '1', CHANGED, SUMMARY = '' } = process.env

/** The seconds that the files of a folder took, what they import among them. */
const secondsOf = (module: TestModule): number => {
  const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic()
  return (collectDuration + duration + prepareDuration + setupDuration) / 1000
}

const cpuOf = (module: TestModule): number => (module.meta().cpu ?? 0) / 1000

/** A file or a folder, and the seconds of its tests: by the clock, and of CPU without processes that they start. */
type Time = readonly [place: string, seconds: number, cpu: number]

/** The files of each folder as one. */
function sumUp(files: readonly Time[]): readonly Time[] {
  const sums = new Map<string, Time>()
  for (const [place, seconds, cpu] of files) {
    const folder = place.split('/').slice(0, 2).join('/')
    const [, before = 0, cpuBefore = 0] = sums.get(folder) ?? []
    sums.set(folder, [folder, before + seconds, cpuBefore + cpu])
  }
  return [...sums.values()]
}

/** The longest first. */
const print = (times: readonly Time[], most?: number): string =>
  times
    .toSorted(([, , one], [, , other]) => other - one)
    .slice(0, most)
    .map(
      ([place, seconds, cpu]) =>
        `\n  ${cpu.toFixed(1).padStart(7)}${seconds.toFixed(1).padStart(8)}  ${place}`,
    )
    .join('')

/** Says by which seed tests are random, where their time goes, and how to repeat a failure. Ends with one line, `N passed, N failed`. */
export default class SummaryReporter implements Reporter {
  onInit(): void {
    const area =
      TIER === 'quick'
        ? `, mutants of ${CHANGED?.split('\n').length ?? 'an unknown number of'} changed files`
        : ''
    process.stdout.write(`tests: ${TIER}, SEED=${SEED}${area}\n`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0
    let failed = errors.length
    const failing: string[] = []
    const places = modules.map((module) => relative(process.cwd(), module.moduleId).replaceAll('\\', '/'))
    for (const [i, module] of modules.entries()) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
      }
      if (module.state() === 'failed') failing.push(places[i] ?? '')
    }
    const files = modules.map((module, i): Time => [places[i] ?? '', secondsOf(module), cpuOf(module)])
    const lines = [
      `seconds of CPU and by the clock, by folder:${print(sumUp(files))}`,
      `the longest files:${print(files, LONGEST)}`,
    ]
    if (failing.length > 0) {
      const start = process.env.DATABASE_URL === undefined ? '' : 'node test/with-postgres.mjs '
      const how = `${start}npx vitest run --config=test/vitest.config.ts ${failing.join(' ')}`
      lines.push(`to repeat what failed: ${TIER === 'long' ? 'LONG=1' : `TIER=${TIER}`} SEED=${SEED} ${how}`)
    }
    const summary = `${passed} passed, ${failed} failed\n`
    if (SUMMARY !== '') writeFileSync(SUMMARY, summary)
    else lines.push(summary.trim())
    // After the other reporters, whose lines come in the same turn.
    setImmediate(() => process.stdout.write(`${lines.join('\n')}\n`))
  }
}
