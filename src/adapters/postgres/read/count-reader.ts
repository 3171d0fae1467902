import type { Value } from '../../sql/dialect.js'
import type { Caller, Connections } from '../connection/connections.js'
import type { Watch } from '../connection/watch.js'
import { createAskTogether } from './ask-together.js'

/** A count by one statement; its values come with each read. */
export interface Count {
  readonly text: string
  readonly mayBeLong: boolean
  /** Writes the text with values behind so many others; absent where other values need another text. */
  readonly writeBehind?: ((places: number) => string) | undefined
}

/** Counts with some values. */
export type ReadCount = (values: readonly Value[], caller: Caller) => Promise<number>

/** The most counts of one statement: they are done one after another. */
const MOST_TOGETHER = 4

/** So many counts are asked for alone after some that took long together. */
const PAUSE = 64

/**
 * Creates what counts. Counts that are asked for together, or while others are under way, are one statement: what a process
 * spends on sending one and hearing its answer is more than on all the rest of a request.
 */
export function createCountReader(use: Connections['use'], watch: Watch, count: Count): ReadCount {
  const { text, mayBeLong, writeBehind } = count
  const alone: ReadCount = (values, caller) =>
    use(async ({ readRows }) => Number((await readRows(text, values))[0]?.[0]), caller, { mayBeLong })
  if (!writeBehind) return alone

  let paused = 0
  const texts: string[] = []
  const ask = createAskTogether<number>(watch, {
    alone,
    most: MOST_TOGETHER,
    isImpatient: true,
    async together(distinct, caller) {
      const { length } = distinct
      const [first] = distinct
      texts[length] ??= writeColumns(length, (place) => writeBehind(place * (first?.length ?? 0)))
      try {
        const rows = await use(({ readRows }) => readRows(texts[length] ?? '', distinct.flat()), caller, {
          mayBeLong,
        })
        return distinct.map((_, i) => Number(rows[0]?.[i]))
      } catch (thrown) {
        paused = PAUSE
        throw thrown
      }
    },
  })
  return (values, caller) => {
    if (paused === 0) return ask(values, caller)
    paused -= 1
    return alone(values, caller)
  }
}

const writeColumns = (length: number, write: (place: number) => string): string =>
  `SELECT ${Array.from({ length }, (_, i) => `(${write(i)}) AS total${i}`).join(', ')}`
