/** Several runtimes write to one SQLite file at once, and are killed while they write. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ADDED = 10_000
const ROUNDS = 12

/**
 * Starts a writer. `runtime`: its name, its program with arguments, the folder whose packages it uses, and `libsql`, the
 * folder of the client if libSQL writes.
 */
function start({ program, args, folder, libsql }, file, task, amount) {
  const script = join(folder, 'sqlite-writer.mjs')
  const asked = [file, task, String(amount ?? ''), ...(libsql ? [libsql] : [])]
  const child = spawn(program, [...args, script, ...asked], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => lines.push(line))
  let errors = ''
  child.stderr.on('data', (bytes) => (errors += bytes))
  // The pipes may have more lines when the process has ended.
  const ended = Promise.all([
    new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    new Promise((resolve) => reader.once('close', resolve)),
  ]).then(([how]) => ({ ...how, lines, errors }))
  return { child, lines, ended }
}

async function read(runtime, file) {
  const { code, lines, errors } = await start(runtime, file, 'read').ended
  if (code !== 0) throw new Error(`${runtime.name} cannot read: ${errors}`)
  return JSON.parse(lines[0])
}

/** All runtimes add to one number at once. */
async function judgeAdding(runtimes, folder) {
  const file = join(folder, 'together.db')
  const times = ADDED / runtimes.length
  const found = await Promise.all(runtimes.map((runtime) => start(runtime, file, 'add', times).ended))
  const failures = found.flatMap(({ code, errors }, i) =>
    code === 0 ? [] : [`${runtimes[i].name} ended with ${code}: ${errors}`],
  )
  for (const runtime of runtimes) {
    const { count } = await read(runtime, file)
    if (count !== ADDED) failures.push(`${runtime.name} reads ${count} in place of ${ADDED}`)
  }
  if (existsSync(`${file}-wal`)) failures.push('the log is left behind')
  return failures
}

/** A process is killed while it writes. What it was told is there, and each write is whole. */
async function judgeKills(runtime, folder) {
  const file = join(folder, `${runtime.name}.db`)
  const told = []
  const failures = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const { child, lines, ended } = start(runtime, file, 'pairs', round)
    // It is killed in the middle of a write, at another moment in each round.
    while (lines.length < 20 + 5 * round && child.exitCode === null)
      await new Promise((then) => setTimeout(then, 5))
    await new Promise((then) => setTimeout(then, 40 * Math.random()))
    child.kill('SIGKILL')
    const { signal, errors } = await ended
    if (signal !== 'SIGKILL') failures.push(`round ${round} ended itself: ${errors}`)
    told.push(...lines)
  }
  const ids = new Set((await read(runtime, file)).ids)
  const lost = told.filter((pair) => !ids.has(`${pair}-a`) || !ids.has(`${pair}-b`))
  const torn = [...ids].filter((id) => !ids.has(id.replace(/.$/, (side) => (side === 'a' ? 'b' : 'a'))))
  if (lost.length > 0) failures.push(`${lost.length} of ${told.length} writes are lost: ${lost[0]}`)
  if (torn.length > 0) failures.push(`${torn.length} writes are torn: ${torn[0]}`)
  return { failures, told: told.length }
}

/** Kills writers of each runtime. Returns what failed, and the number of writes that were acknowledged before a kill. */
async function judgeAllKills(runtimes, folder) {
  const failures = []
  let acknowledged = 0
  for (const runtime of runtimes) {
    const killed = await judgeKills(runtime, folder)
    failures.push(...killed.failures.map((failure) => `${runtime.name} › ${failure}`))
    acknowledged += killed.told
  }
  return { failures, checks: runtimes.length, acknowledged }
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-together-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns what failed, the number of checks, and the number of writes that were acknowledged before a kill. */
export const judgeTogether = (runtimes) =>
  inFolder(async (folder) => {
    const failures = await judgeAdding(runtimes, folder)
    const kills = await judgeAllKills(runtimes, folder)
    return { ...kills, failures: [...failures, ...kills.failures], checks: 2 + kills.checks }
  })

/** The same for runtimes that do not write to one file. */
export const judgeAlone = (runtimes) => inFolder((folder) => judgeAllKills(runtimes, folder))
