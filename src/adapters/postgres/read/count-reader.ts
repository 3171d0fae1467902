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
  /** Writes the text with values behind so many others; absent where other values need another text. */
  readonly writeBehind?: ((places: number) => string) | undefined
}

/** What counts need. */
export interface CountSource {
  readonly use: Connections['use']
  readonly watch: Watch
  /** Whether something can still be asked for. */
  readonly isOpen: () => boolean
}

/** Counts with some values. A count that may be long can be read in another manner. */
export type ReadCount = (values: readonly Value[], caller: WorkCaller, manner: WorkOptions) => Promise<number>

/** The most counts of one statement: they are done one after another. */
const MOST_TOGETHER = 4

/** The milliseconds after which a shared statement is abandoned: one that takes long keeps no others waiting. */
const PATIENCE = 500

/** So many counts are asked for alone after some that took long together. */
const PAUSE = 64

/**
 * Creates what counts. Counts that are asked for together, or while others are under way, are one statement: what a process
 * spends on sending one and hearing its answer is more than on all the rest of a request.
 */
export function createCountReader({ use, watch, isOpen }: CountSource, count: Count): ReadCount {
  const { text, mayBeLong, writeBehind } = count
  const alone: ReadCount = (values, caller, manner) =>
    use(async ({ readRows }) => Number((await readRows(text, values))[0]?.[0]), caller, manner)
  if (!writeBehind) return alone

  let paused = 0
  const texts: string[] = []
  /** Reads for a shared statement, once it has a connection: before, it has its place in the line. */
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
    // Counts that wait with what may be long are done together, others beside them.
    const isBeside = manner.mayBeLong !== mayBeLong
    if (!isBeside && paused === 0) return ask(values, caller)
    if (!isBeside) paused -= 1
    return alone(values, caller, manner)
  }
}

const writeColumns = (length: number, write: (place: number) => string): string =>
  `SELECT ${Array.from({ length }, (_, i) => `(${write(i)}) AS total${i}`).join(', ')}`

// Read at start: a fake clock of a test must not stop what others wait for.
const [later, clear] = [setTimeout, clearTimeout]
