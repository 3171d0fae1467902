import { execFileSync } from 'node:child_process'
import { installPackages } from '../cluster/packages.mjs'
import { root, run } from '../support/packed.mjs'

/** Runs the kit of adapters, and tests of races, batches and streams, behind a PgBouncer in transaction mode. */
export async function operate() {
  installPackages(['pgbouncer'])
  const version = execFileSync('/usr/sbin/pgbouncer', ['--version'], { encoding: 'utf8' }).split('\n')[0]
  const { status, stdout, stderr } = await run('node', ['test/cluster/behind-pgbouncer.mjs'], {
    cwd: root,
    seconds: 1800,
  })
  const read = (what) => Number(new RegExp(`Tests .*?(\\d+) ${what}`).exec(stdout)?.[1] ?? 0)
  const isRight = status === 0 && read('passed') > 0 && read('failed') === 0
  if (!isRight) process.stderr.write(stdout + stderr)
  return {
    title: `pgbouncer ${/[\d.]+/.exec(version)?.[0]}`,
    about: 'Transaction mode, before a PostgreSQL 18',
    columns: ['check', 'result'],
    rows: [
      {
        isRight,
        cells: ['the kit of adapters, races, batches and streams', isRight ? 'all tests pass' : 'tests fail'],
      },
    ],
  }
}
