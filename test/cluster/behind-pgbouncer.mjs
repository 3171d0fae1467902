#!/usr/bin/env node
/**
 * Runs the conformance kit of adapters, and tests of races and of several processes, behind a PgBouncer in
 * transaction mode. More arguments: other test files. `PGBOUNCER_SETTINGS`: more lines of its configuration.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startPostgres } from '../support/start-postgres.mjs'
import { installPackages } from './packages.mjs'
import { startPgbouncer } from './start-pgbouncer.mjs'

const FILES = [
  'test/adapters/postgres.test.ts',
  'test/adapters/postgres-batches.test.ts',
  'test/adapters/postgres-bytes.test.ts',
  'test/adapters/postgres-log.test.ts',
  'test/durability/references.test.ts',
  'test/durability/processes.test.ts',
  'test/durability/serial-order.test.ts',
  'test/contract/batch.test.ts',
  'test/contract/streams.test.ts',
]

installPackages(['pgbouncer'])
const postgres = await startPostgres()
const settings = (process.env.PGBOUNCER_SETTINGS ?? '').split('\n')
const pgbouncer = await startPgbouncer(postgres.url, settings)
const files = process.argv.slice(2)
const tests = spawn(
  'npx',
  ['vitest', 'run', '--config=test/vitest.config.ts', ...(files.length > 0 ? files : FILES)],
  { stdio: 'inherit', env: { ...process.env, DATABASE_URL: pgbouncer.url } },
)
const [status] = await once(tests, 'exit')
await pgbouncer.stop()
await postgres.destroy()
process.exit(status ?? 1)
