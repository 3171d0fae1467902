import { createOrder } from '../../promises.js'
import { endOfTurn } from '../../slices.js'
import type { Logger } from '../../types/host.js'
import type { Background, BackgroundScope } from '../call.js'

/** The most works that are under way behind answers in a process: each holds an identifier, and little more. */
const MAX_UNDER_WAY = 1000

/** The most works of a line that are under way: more than are delivered to one identifier in an hour. */
const MAX_IN_LINE = 4

/** How works run, and who has to know of them. */
interface BackgroundOptions {
  /** Runs a work until it settles or its time is over. */
  readonly run: (work: (by: BackgroundScope) => Promise<void>) => Promise<void>
  /** Counts work that `close` waits for, until its result is called. */
  readonly track: () => () => void
  readonly logger: Logger
  /** The host's, for runtimes that end work behind an answer. */
  readonly tell: ((work: Promise<void>) => void) | undefined
}

/** Creates what runs work behind answers. */
export function createBackground({ run, track, logger, tell }: BackgroundOptions): Background {
  const inOrder = createOrder()
  const lines = new Map<string, number>()
  let underWay = 0
  let isFull = false
  const tellHost = async (done: Promise<void>): Promise<void> => {
    try {
      await tell?.(done)
    } catch (cause) {
      logger.error('options.background failed', { cause })
    }
  }
  const runIn = (line: string | undefined, work: Parameters<typeof run>[0]): Promise<void> =>
    line === undefined ? run(work) : inOrder(line, () => run(work))
  return {
    begin(work, line) {
      const inLine = line === undefined ? 0 : (lines.get(line) ?? 0)
      if (inLine >= MAX_IN_LINE) return
      if (underWay >= MAX_UNDER_WAY) {
        if (!isFull) logger.warn('too much is under way behind answers: some of it is left out')
        isFull = true
        return
      }
      isFull = false
      underWay += 1
      if (line !== undefined) lines.set(line, inLine + 1)
      const leave = track()
      const done = nextTurn()
        .then(() => runIn(line, work))
        .catch((cause: unknown) => logger.error('work behind an answer failed', { cause }))
        .then(() => {
          underWay -= 1
          if (line !== undefined) leaveLine(lines, line)
          leave()
        })
      void tellHost(done)
    },
  }
}

function leaveLine(lines: Map<string, number>, line: string): void {
  const left = (lines.get(line) ?? 0) - 1
  if (left > 0) lines.set(line, left)
  else lines.delete(line)
}

/**
 * The answer goes out first: how long it takes must not depend on what comes behind it. It leaves at the end of a
 * turn of the event loop, before which the timer may fire.
 */
async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
  await endOfTurn()
}
