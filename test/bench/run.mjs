/** Runs the benchmarks: all of them, or those named: `npm run bench -- stalls`. */
const BENCHMARKS = [
  'aggregates',
  'changes',
  'fairness',
  'hashing',
  'logged',
  'memory',
  'migrate',
  'processes',
  'real',
  'requests',
  'stalls',
  'writes',
]

const named = process.argv.slice(2)
const unknown = named.filter((name) => !BENCHMARKS.includes(name))
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(', ')}; there are ${BENCHMARKS.join(', ')}`)
  process.exit(2)
}
for (const name of named.length > 0 ? named : BENCHMARKS) {
  console.log(`\n${name}`)
  await import(`./${name}.mjs`)
}
