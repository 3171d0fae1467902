import type { MigrateProgress, MigrateStep } from '../../../core/migrate/run-steps.js'
import { toPrintable } from '../../../core/start/printable.js'
import { toJsonText } from '../../insight/text/json-text.js'
import { layOut } from '../../insight/text/layout.js'
import { dropUniqueIndex } from '../../migrate/drop-unique-index.js'
import { migrateCollections } from '../../migrate/migrate-collections.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { createStorage, usingStorage } from '../create-storage.js'
import { refuseNewFile } from '../existing-storage.js'
import { loadMigrations } from '../load-migrations.js'
import { readConfig } from '../read-config.js'
import type { Outputs, Terminal } from '../terminal.js'
import { textFor } from '../terminal.js'
import type { OnStart } from './serve.js'

/** The maximum number of `_id`s that are printed for one step. */
const MOST_IDS = 3

/**
 * Brings the documents of a storage into the form that a configuration requires, and prints each step, or drops a unique
 * index. The exit code is 1 if a document could not be changed, and else 0. Throws `FileError`, `ConfigError` and `StorageError`.
 */
export async function migrate(
  { config: path, storage, dryRun, dropUnique, erase, format, migrations: folder }: ArgumentsOf<'migrate'>,
  terminal: Terminal,
  { stderr, onStop }: Pick<Outputs, 'stderr'> & { readonly onStop: OnStart },
): Promise<number> {
  const config = await readConfig(path)
  await refuseNewFile(storage)
  if (dropUnique) {
    const adapter = createStorage(storage)
    await usingStorage(adapter, () => dropUniqueIndex(config, adapter, dropUnique))
    terminal.print(`The unique index ${[dropUnique.collection, ...dropUnique.fields].join(' ')} is dropped.`)
    return 0
  }
  const ending = new AbortController()
  onStop(async () => ending.abort(new Error('interrupted: the next run continues')))
  const migrations = await loadMigrations(config, folder)
  const progress = createProgress(stderr, terminal)
  const adapter = createStorage(storage)
  /** The reason of the first document that failed in each step. */
  const reasons = new Map<string, string>()
  const { steps } = await usingStorage(adapter, () =>
    migrateCollections(config, adapter, {
      migrations,
      dryRun,
      erase,
      signal: ending.signal,
      onProgress: progress.note,
      onFailed({ name, collection, reason }) {
        const key = keyOf({ name, collection })
        if (!reasons.has(key)) reasons.set(key, reason)
      },
    }),
  )
  progress.end()
  const lines =
    format === 'json'
      ? [toJsonText({ steps })]
      : printSteps(steps, { dryRun, reasons, width: textFor(terminal).width })
  for (const line of lines) terminal.print(line)
  return steps.some(({ failed }) => failed > 0) ? 1 : 0
}

const keyOf = ({ name, collection }: Pick<MigrateStep, 'name' | 'collection'>): string =>
  `${name} ${collection}`

const countOf = (count: number): string =>
  `${count.toLocaleString('en')} ${count === 1 ? 'document' : 'documents'}`

interface Printing {
  readonly dryRun: boolean
  readonly reasons: ReadonlyMap<string, string>
  readonly width: number | undefined
}

function printSteps(steps: readonly MigrateStep[], printing: Printing): readonly string[] {
  if (steps.length === 0) return ['All documents fit the configuration.']
  const rows = steps.map((step) => [
    step.name,
    step.kind === 'migration' ? step.collection : KINDS[step.kind],
    `${countOf(step.done)}${printing.dryRun ? ' would change' : ' changed'}`,
    step.failed === 0 ? '' : describeFailed(step, printing),
  ])
  return layOut(rows, printing.width)
}

const KINDS: { readonly [kind in Exclude<MigrateStep['kind'], 'migration'>]: string } = {
  fill: 'fill',
  form: 'normal form',
  erase: 'erase',
}

function describeFailed(step: MigrateStep, { dryRun, reasons }: Printing): string {
  const { failed, ids } = step
  const more = failed > MOST_IDS ? ', …' : ''
  const reason = toPrintable(reasons.get(keyOf(step)) ?? '')
  return `${countOf(failed)} ${dryRun ? 'would fail' : 'failed'} (${reason}): ${ids.slice(0, MOST_IDS).join(', ')}${more}`
}

/** The minimum number of milliseconds between two lines about the progress. */
const PAUSE = 1000

/** The number of characters of a bar. */
const BAR = 24

const barOf = (part: number): string => '#'.repeat(Math.round(BAR * part)).padEnd(BAR, '.')

/** Shows the progress on the error output: as one bar that grows on a terminal, else as a line each second. */
function createProgress(stderr: Outputs['stderr'], { complain }: Terminal) {
  let printed = performance.now()
  let isBar = false
  return {
    note({ name, done, of }: MigrateProgress): void {
      const isLast = done >= of
      if (performance.now() - printed < (stderr.isTTY ? PAUSE / 10 : PAUSE) && !isLast) return
      printed = performance.now()
      const text = `${name} ${done.toLocaleString('en')} of ${of.toLocaleString('en')}`
      isBar = stderr.isTTY === true
      if (isBar) stderr.write(`\r\x1b[K[${barOf(done / Math.max(1, of))}] ${text}`)
      else complain(text)
    },
    end(): void {
      if (isBar) stderr.write('\r\x1b[K')
    },
  }
}
