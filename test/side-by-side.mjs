#!/usr/bin/env node
/**
 * Runs scripts of package.json at once. The last one named has the terminal; of the others that is printed which fail. The
 * first that fails ends the others, and this with its status.
 */
import { spawn } from 'node:child_process'

const names = process.argv.slice(2)
if (names.length === 0) {
  process.stderr.write('usage: node test/side-by-side.mjs SCRIPT ...\n')
  process.exit(2)
}
const running = new Set()

/** Resolves with the status of a script, and what it printed where it has no terminal. */
function run(name) {
  const stdio = name === names.at(-1) ? 'inherit' : ['ignore', 'pipe', 'pipe']
  const child = spawn('npm', ['run', '--silent', name], { stdio, shell: process.platform === 'win32' })
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
await Promise.all(
  names.map(async (name) => {
    const ended = await run(name)
    if (ended.status === 0 || status !== 0) return
    status = ended.status
    for (const bytes of ended.printed) process.stderr.write(bytes)
    for (const child of running) child.kill('SIGTERM')
  }),
)
process.exitCode = status
