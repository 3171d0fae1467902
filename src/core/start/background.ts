import { createOrder } from '../promises.js'
import type { Background, BackgroundScope } from '../request/call.js'
import { RequestDeadline, waitUntilLate } from '../request/deadline.js'
import type { CreateStore } from '../request/store.js'
import { endOfTurn } from '../slices.js'
import type { Logger } from '../types/host.js'

/** The maximum number of background tasks of a process at the same time. Each holds an identifier, and little more. */
const MAX_UNDER_WAY = 1000

/** The maximum number of tasks in one line, which run one by one: more than the hourly deliveries to an identifier. */
const MAX_IN_LINE = 4

type BackgroundWork = (by: BackgroundScope) => Promise<void>

const ignore = (): void => {}

/** The dependencies of background tasks. */
interface BackgroundOptions {
  readonly createStore: CreateStore
  /** The deadline of a task, in seconds. */
  readonly seconds: number
  /** Counts work for which `close` waits, until the returned function is called. */
  readonly track: () => () => void
  readonly logger: Logger
  /** The option `background` of the host, for runtimes that stop all work after the response. */
  readonly tell: ((work: Promise<void>) => void) | undefined
}

/** Creates the runner of background work. */
export function createBackground(options: BackgroundOptions): Background {
  const { createStore, seconds, track, logger, tell } = options
  // No client waits for the work, so none can disconnect.
  const limit = { seconds, onGone: () => ignore, onSettled: ignore, discard: ignore }
  const run = async (work: BackgroundWork): Promise<void> => {
    const deadline = new RequestDeadline()
    return waitUntilLate(work({ deadline, store: createStore(deadline) }), deadline, limit)
  }
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
  const runIn = (line: string | undefined, work: BackgroundWork): Promise<void> =>
    line === undefined ? run(work) : inOrder(line, () => run(work))
  return {
    begin(work, line) {
      const inLine = line === undefined ? 0 : (lines.get(line) ?? 0)
      if (inLine >= MAX_IN_LINE) return
      if (underWay >= MAX_UNDER_WAY) {
        if (!isFull) logger.warn(`${MAX_UNDER_WAY} background tasks are running: further tasks are skipped`)
        isFull = true
        return
      }
      isFull = false
      underWay += 1
      if (line !== undefined) lines.set(line, inLine + 1)
      const leave = track()
      const done = nextTurn()
        .then(() => runIn(line, work))
        .catch((cause: unknown) => logger.error('background work failed', { cause }))
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
 * Waits until the response is sent, because its duration must not depend on the background work. The timer alone may
 * fire too early: responses are sent at the end of a turn of the event loop.
 */
async function nextTurn(): Promise<void> {
  await new Promise((resolve) => later(resolve, 0))
  await endOfTurn()
}

// Read at load time, so that a fake clock in a test does not stop work for which `close` waits.
const later = setTimeout
