#!/usr/bin/env node
/** Starts a PostgreSQL, runs a command with its DATABASE_URL, and ends with the command's status. */
import { spawn } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { startPostgres } from './support/start-postgres.mjs'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  process.stderr.write('usage: node test/with-postgres.mjs COMMAND [ARGUMENT ...]\n')
  process.exit(2)
}
/** Where Linux keeps files in memory. What dies in tests is a process, never the machine: nothing waits for a disk. */
const IN_MEMORY = '/dev/shm'
const ROOM = 4 * 1024 ** 3

function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= ROOM
  } catch {
    return false
  }
}

if (process.env.TMPDIR === undefined && hasRoom(IN_MEMORY)) process.env.TMPDIR = IN_MEMORY

const postgres = await startPostgres()
const child = spawn(command, args, {
  stdio: 'inherit',
  env: { ...process.env, DATABASE_URL: postgres.url },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
const status = await new Promise((resolve) => {
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`)
    resolve(127)
  })
  child.on('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)))
})
await postgres.destroy()
process.exit(status)
