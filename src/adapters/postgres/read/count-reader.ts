import type { Value } from '../../sql/dialect.js'
import { canCancel } from '../connection/cancel.js'
import type { Connections, WorkCaller, WorkOptions } from '../connection/connections.js'
import type { DatabaseSession } from '../connection/session.js'
import type { SharedStatement } from '../connection/shared-statement.js'
import type { Watch } from '../connection/watch.js'
import { createAskTogether } from './ask-together.js'

/** A count by one statement; its values come with each read. */
export interface Count {
  readonly text: string
  readonly mayBeLong: boolean
  /** Writes the text with its parameters numbered after this many others; absent if other values need another text. */
  readonly writeBehind?: ((places: number) => string) | undefined
}

/** The dependencies of counts. */
export interface CountSource {
  readonly use: Connections['use']
  readonly watch: Watch
  /** Whether the adapter is open. */
  readonly isOpen: () => boolean
}

/** Counts with some values. The caller may override the options of a count that may be long. */
export type ReadCount = (values: readonly Value[], caller: WorkCaller, manner: WorkOptions) => Promise<number>

/** The most counts of one statement: PostgreSQL computes them one after another. */
const MOST_TOGETHER = 4

/** Milliseconds after which a shared statement is abandoned, so that one slow count does not delay the others. */
const PATIENCE = 500

/** The number of counts that are read alone after a shared statement took long. */
const PAUSE = 64

/**
 * Creates the reader of a count. Counts requested together, or while others are under way, share one statement:
 * sending a statement and receiving its result costs a process more than the rest of a request.
 */
export function createCountReader({ use, watch, isOpen }: CountSource, count: Count): ReadCount {
  const { text, mayBeLong, writeBehind } = count
  const alone: ReadCount = (values, caller, manner) =>
    use(async ({ readRows }) => Number((await readRows(text, values))[0]?.[0]), caller, manner)
  if (!writeBehind) return alone

  let paused = 0
  const texts: string[] = []
  /** Reads for a shared statement once it has a connection; before that, it waits in the queue. */
  const readShared = async (
    { client, readRows }: DatabaseSession,
    distinct: readonly (readonly Value[])[],
    shared: SharedStatement,
  ): Promise<readonly number[]> => {
    const { length } = distinct
    const places = distinct[0]?.length ?? 0
    texts[length] ??= writeColumns(length, (place) => writeBehind(place * places))
    const abandon = (): void => {
      if (!canCancel(client) || !isOpen()) return
      paused = PAUSE
      shared.abandon()
    }
    const timer = later(abandon, PATIENCE)
    try {
      const [totals = []] = await readRows(texts[length] ?? '', distinct.flat())
      return totals.map(Number)
    } finally {
      clear(timer)
    }
  }
  const ask = createAskTogether<number>(watch, {
    alone: (values, caller) => alone(values, caller, { mayBeLong }),
    most: MOST_TOGETHER,
    together: (distinct, shared) =>
      use((session) => readShared(session, distinct, shared), shared, { mayBeLong }),
  })
  return (values, caller, manner) => {
    // Counts with the default options are shared, others are read alone.
    const isBeside = manner.mayBeLong !== mayBeLong
    if (!isBeside && paused === 0) return ask(values, caller)
    if (!isBeside) paused -= 1
    return alone(values, caller, manner)
  }
}

const writeColumns = (length: number, write: (place: number) => string): string =>
  `SELECT ${Array.from({ length }, (_, i) => `(${write(i)}) AS total${i}`).join(', ')}`

// Captured on load: the fake timers of a test must not stop this module.
const [later, clear] = [setTimeout, clearTimeout]
