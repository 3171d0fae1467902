#!/usr/bin/env node
/**
 * Twenty processes of the command line that start at once: on an empty database, and with a configuration that asks for more
 * indexes of many documents, while four others serve. `PROCESSES`, `DOCUMENTS`: other numbers.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { startPostgres } from '../support/start-postgres.mjs'

const PROCESSES = Number(process.env.PROCESSES ?? 20)
const DOCUMENTS = Number(process.env.DOCUMENTS ?? 100_000)
const PROGRAM = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

const say = (line) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
const permissions = { '*': true }
const text = { type: 'string' }

const configOf = (options, more = {}) => ({
  collections: {
    things: {
      schema: { code: { ...text, ...options }, name: { ...text, ...more }, n: { type: 'integer', ...more } },
      permissions,
    },
    marks: { schema: { thing: { type: 'reference', collection: 'things' } }, permissions, changes: true },
  },
})
const before = configOf({})
const after = configOf({ unique: true }, { index: true })

const folder = await mkdtemp(join(tmpdir(), 'collection-service-start-'))
const postgres = await startPostgres({ settings: { max_connections: 400 } })
const urlOf = (database) => Object.assign(new URL(postgres.url), { pathname: `/${database}` }).href
async function query(database, text, values) {
  const client = new pg.Client({ connectionString: urlOf(database) })
  await client.connect()
  const { rows } = await client.query(text, values)
  await client.end()
  return rows
}
for (const name of ['alone', 'together']) await query('postgres', `CREATE DATABASE ${name}`)
const children = new Set()

/** A process of the command line, once it says where it listens. */
async function start(file, database) {
  const args = [PROGRAM, file, '--port', '0', '--database', urlOf(database)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder })
  children.add(child)
  let said = ''
  let complaint = ''
  child.stdout.on('data', (data) => {
    said += data
  })
  child.stderr.on('data', (data) => {
    complaint += data
  })
  const ended = once(child, 'exit')
  let url
  while (!url) {
    url = /http:\/\/[\w.]+:\d+/.exec(said)?.[0]
    if (child.exitCode !== null) throw new Error(`a process ended: ${said}${complaint}`)
    await pause(20)
  }
  assert.equal((await fetch(`${url}/things?limit=1`)).status, 200)
  return {
    url,
    /** Ends it. Gives what it has said of errors. */
    async end() {
      child.kill('SIGTERM')
      const [status] = await ended
      children.delete(child)
      assert.equal(status, 0, `a process ended with ${status}: ${complaint}`)
      return complaint
    },
  }
}

const startMany = (times, file, database) =>
  Promise.all(Array.from({ length: times }, () => start(file, database)))

async function send(url, method, path, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}

/** All tables and indexes of a database. */
async function structuresOf(database) {
  const rows = await query(
    database,
    `SELECT c.relkind, c.relname, CASE c.relkind WHEN 'i' THEN pg_get_indexdef(c.oid) END AS definition, i.indisvalid IS NOT FALSE AS is_valid
FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indexrelid = c.oid WHERE c.relnamespace = 'collection_service'::regnamespace ORDER BY 1, 2`,
  )
  assert.deepEqual(
    rows.filter(({ is_valid }) => !is_valid),
    [],
    'no index is half built',
  )
  return rows
}

async function endAll(processes) {
  const complaints = (await Promise.all(processes.map(({ end }) => end()))).filter((words) => words !== '')
  // What is open to everybody is said at each start.
  const unexpected = complaints
    .flatMap((words) => words.split('\n'))
    .filter((line) => line && !/everyone may/.test(line))
  assert.deepEqual([...new Set(unexpected)], [], 'nobody says anything')
}

const files = { before: join(folder, 'before.json'), after: join(folder, 'after.json') }
await writeFile(files.before, JSON.stringify(before))
await writeFile(files.after, JSON.stringify(after))

try {
  // What one process makes alone is what all together have to make.
  const expected = {}
  for (const name of ['before', 'after']) {
    await endAll([await start(files[name], 'alone')])
    expected[name] = await structuresOf('alone')
  }
  assert.notDeepEqual(expected.before, expected.after)

  let begin = performance.now()
  const seconds = () => ((performance.now() - begin) / 1000).toFixed(1)
  const first = await startMany(PROCESSES, files.before, 'together')
  say(`${PROCESSES} processes on an empty database: all serve after ${seconds()} s`)
  for (const [i, { url }] of first.entries())
    assert.equal((await send(url, 'POST', '/things', { code: `first${i}` })).status, 201)
  for (const { url } of first) assert.equal((await send(url, 'GET', '/things')).body.length, PROCESSES)
  assert.deepEqual(await structuresOf('together'), expected.before)
  const serving = first.slice(0, 4)
  await endAll(first.slice(4))

  await query(
    'together',
    `INSERT INTO collection_service.c_things (_id, document) SELECT id, model || jsonb_build_object('_id', id, 'code', id, 'name', 'name ' || i % 1000, 'n', i)
FROM (SELECT document AS model FROM collection_service.c_things LIMIT 1) AS one, (SELECT gen_random_uuid()::text AS id, i FROM generate_series(1, $1) AS i) AS many`,
    [DOCUMENTS],
  )
  const answers = new Map()
  let isServing = true
  const load = serving.map(async ({ url }, i) => {
    for (let serial = 0; isServing; serial++) {
      const made = await send(url, 'POST', '/things', { code: `${i}-${serial}`, n: serial })
      const changed = await send(url, 'PATCH', `/things/${made.body._id}`, { n: -1 })
      const read = await send(url, 'GET', `/things/${made.body._id}`)
      for (const { status } of [made, changed, read]) answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  })
  begin = performance.now()
  const second = await startMany(PROCESSES, files.after, 'together')
  say(`${PROCESSES} processes with more indexes of ${DOCUMENTS} documents: all serve after ${seconds()} s`)
  isServing = false
  await Promise.all(load)
  say(`meanwhile: ${[...answers].map(([status, times]) => `${times} times ${status}`).join(', ')}`)
  assert.deepEqual([...answers.keys()].sort(), [200, 201])
  assert.deepEqual(await structuresOf('together'), expected.after)
  for (const { url } of second) {
    assert.equal((await send(url, 'POST', '/things', { code: 'first0' })).status, 409)
    assert.equal(
      (await send(url, 'GET', '/things?q%5Bname%5D=name%207')).body.length,
      Math.floor((DOCUMENTS + 993) / 1000),
    )
  }
  await endAll([...serving, ...second])
  say('one set of structures, and nobody says anything')
} finally {
  for (const child of children) child.kill('SIGKILL')
  await postgres.destroy()
  await rm(folder, { recursive: true, force: true })
}
process.exit(0)
