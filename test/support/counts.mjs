/** Counts checks, and prints those that fail. `end` prints both numbers and ends the process. */
export function createCounts() {
  const counts = { passed: 0, failed: 0 }
  return {
    add(passed, failed) {
      counts.passed += passed
      counts.failed += failed
    },
    judge(title, holds) {
      counts[holds ? 'passed' : 'failed'] += 1
      if (!holds) console.log(`✗ ${title}`)
    },
    end() {
      console.log(`${counts.passed} passed, ${counts.failed} failed`)
      process.exit(counts.failed > 0 ? 1 : 0)
    },
  }
}
