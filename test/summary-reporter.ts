import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run with one line, `N passed, N failed`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0
    let failed = errors.length
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
      }
    }
    // After the other reporters, whose lines come in the same turn.
    setImmediate(() => process.stdout.write(`${passed} passed, ${failed} failed\n`))
  }
}
