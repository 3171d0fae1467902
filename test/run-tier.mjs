#!/usr/bin/env node
/**
 * Runs what a tier consists of (`test/tiers.ts`): scripts of package.json, two at a time. The last one of each pair has the
 * terminal; of the other that is printed which fails. The first that fails ends the others, and this with its status. Ends
 * with the time that all took and the CPU time of all processes, as far as Linux tells, and the line of the tests.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TIERS = ['quick', 'full']
const PAIRS = [
  ['lint', 'build'],
  ['typecheck', 'vitest'],
]

const [tier, ...more] = process.argv.slice(2)
if (!TIERS.includes(tier) || more.length > 0) {
  process.stderr.write(`usage: node test/run-tier.mjs ${TIERS.join('|')}\n`)
  process.exit(2)
}
const running = new Set()
const folder = mkdtempSync(join(tmpdir(), 'tests-'))
const SUMMARY = join(folder, 'summary')

/** Resolves with the status of a script, and what it printed where it has no terminal. */
function run(name, hasTerminal) {
  const stdio = hasTerminal ? 'inherit' : ['ignore', 'pipe', 'pipe']
  const env = { ...process.env, TIER: tier, SUMMARY }
  const child = spawn('npm', ['run', '--silent', name], { stdio, env, shell: process.platform === 'win32' })
  running.add(child)
  const printed = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => printed.push(bytes))
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ status: 127, printed: [Buffer.from(`${error.message}\n`)] }))
    child.on('close', (code) => {
      running.delete(child)
      resolve({ status: code ?? 1, printed })
    })
  })
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    for (const child of running) child.kill(signal)
  })

let status = 0
for (const names of PAIRS) {
  if (status !== 0) break
  await Promise.all(
    names.map(async (name) => {
      const ended = await run(name, name === names.at(-1))
      if (ended.status === 0 || status !== 0) return
      status = ended.status
      for (const bytes of ended.printed) process.stderr.write(bytes)
      for (const child of running) child.kill('SIGTERM')
    }),
  )
}

/** The CPU seconds of this process and of all that have ended below it; Linux counts in hundredths. */
function readCpu() {
  try {
    const text = readFileSync('/proc/self/stat', 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return `, ${Math.round(ticks / 100)} s of CPU`
  } catch {
    return ''
  }
}

console.log(`${Math.round(process.uptime())} s by the clock${readCpu()}`)
try {
  process.stdout.write(readFileSync(SUMMARY, 'utf8'))
} catch {
  // No test has run.
}
rmSync(folder, { recursive: true, force: true })
process.exitCode = status
