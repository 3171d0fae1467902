/** A process with a consumer, which writes into a ledger what it is told, until it is told to stop. */
import './fast-clock.mjs'
import { openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'

const [{ createCollectionService }, { createPostgresAdapter }, { createSqliteAdapter }] = await Promise.all([
  import('../../../dist/index.js'),
  import('../../../dist/postgres.js'),
  import('../../../dist/sqlite.js'),
])
const adapters = { sqlite: createSqliteAdapter, postgres: createPostgresAdapter }

/** Lines of all processes come one after another: each is written by one call, at the end of the file. */
const openLedger = (file) => {
  const ledger = openSync(file, 'a')
  return (line) => void writeSync(ledger, `${JSON.stringify(line)}\n`)
}

async function run({ store: { engine, options }, config, ledger, by }) {
  const write = openLedger(ledger)
  const silent = { info() {}, warn() {}, error() {} }
  const handler = createCollectionService(config, adapters[engine](options), {
    production: false,
    logger: silent,
    consumers: {
      ledger: {
        collections: ['things'],
        async handle({ after }, { lease }) {
          const entry = { by, lease, code: after.code, n: after.n }
          write({ what: 'begin', ...entry })
          await wait(Math.random() * 4)
          const isRefused = Math.random() < 0.03
          write({ what: isRefused ? 'fail' : 'end', ...entry })
          if (isRefused) throw new Error('not now')
        },
      },
    },
  })
  // A storage that is busy with others may be asked again.
  while (
    !(await handler.ready().then(
      () => true,
      () => false,
    ))
  )
    await wait(100)
  return handler
}

let running
for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line)
  if (task !== 'stop') {
    running = await run(task)
    process.stdout.write('running\n')
  } else {
    await running?.close()
    process.exit(0)
  }
}
