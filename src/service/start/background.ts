import type { Logger } from '../../types/host.js'
import type { Background, BackgroundScope } from '../call.js'

/** The most works that are under way behind answers in a process: each holds an identifier, and little more. */
const MAX_UNDER_WAY = 1000

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
  let underWay = 0
  let isFull = false
  const tellHost = async (done: Promise<void>): Promise<void> => {
    try {
      await tell?.(done)
    } catch (cause) {
      logger.error('options.background failed', { cause })
    }
  }
  return {
    begin(work) {
      if (underWay >= MAX_UNDER_WAY) {
        if (!isFull) logger.warn('too much is under way behind answers: deliveries are left out')
        isFull = true
        return
      }
      isFull = false
      underWay += 1
      const leave = track()
      const done = nextTurn()
        .then(() => run(work))
        .catch((cause: unknown) => logger.error('work behind an answer failed', { cause }))
        .then(() => {
          underWay -= 1
          leave()
        })
      void tellHost(done)
    },
  }
}

/** The answer goes out first: how long it takes must not depend on what comes behind it. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
