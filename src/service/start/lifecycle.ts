import { DELIVERIES_PLAN } from '../../auth/deliveries.js'
import { LEDGERS_PLAN } from '../../auth/ledger.js'
import { SESSIONS_PLAN } from '../../auth/sessions.js'
import { endOfTurn } from '../../slices.js'
import type { StorageAdapter } from '../../storage.js'
import type { Service } from '../call.js'
import { plansOf } from '../changes/log/log-plans.js'
import { storeSeed } from './seed.js'

/** Opens the storage once and closes it after the last request. */
export interface Lifecycle {
  /**
   * Opens the storage; `undefined` when it is open. Rejects with the cause; a later call retries, at most once a
   * second.
   */
  open(): Promise<void> | undefined
  isOpen(): boolean
  close(): Promise<void>
  /** Counts work that `close` waits for, until the returned function is called. */
  track(): () => void
  /** The same for a response that is being sent, which may take as long as its client reads. */
  trackAnswer(): Answering
}

/** A response that is being sent. */
export interface Answering {
  /** Notes that the next part was read. */
  goesOn(): void
  end(): void
}

/** A worker that begins once the storage is open, and ends before it is closed. */
export interface Worker {
  begin(): Promise<void>
  end(): Promise<void>
}

/** Milliseconds between attempts to open a storage. */
const PAUSE = 1000

/**
 * The milliseconds without progress of any response after which `close` no longer waits: twice the timeout of a
 * response that no client reads.
 */
const PATIENCE = 60_000

/** Milliseconds between two checks of that. */
const LOOK = 1000

/** Creates the lifecycle of a service. */
export function createLifecycle(service: Service, adapter: StorageAdapter, worker?: Worker): Lifecycle {
  const { plan, accounts } = service
  let state: 'closed' | 'opening' | 'failed' | 'open' = 'closed'
  let opening: Promise<void> | undefined
  let failedAt = 0
  let closing: Promise<void> | undefined
  const [work, answers] = [createCount(), createCount()]
  /** The time at which a part of a response was last read. */
  let partAt = 0
  const goesOn = (): void => {
    partAt = performance.now()
  }
  const openStorage = async (): Promise<void> => {
    const plans = plansOf(plan)
    try {
      const own = service.deliver
        ? [SESSIONS_PLAN, LEDGERS_PLAN, DELIVERIES_PLAN]
        : [SESSIONS_PLAN, LEDGERS_PLAN]
      await adapter.open(accounts ? [...plans, ...own] : plans)
      await storeSeed(service, adapter)
      await worker?.begin()
      state = 'open'
    } catch (cause) {
      state = 'failed'
      failedAt = performance.now()
      throw cause
    }
  }
  const waitUntilIdle = async (): Promise<void> => {
    await opening?.catch(() => {})
    const ending = worker?.end()
    await work.idle()
    await ending
  }
  const closeStorage = async (): Promise<void> => {
    // Every request has its response by then; work that never ends must not keep the process alive.
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, plan.limits.requestSeconds * 1000)
    })
    await Promise.race([waitUntilIdle(), late])
    clearTimeout(timer)
    const stuck = lookFor(() => performance.now() - partAt > PATIENCE)
    await Promise.race([answers.idle(), stuck.found])
    stuck.stop()
    // Responses leave at the end of a turn; the last one may wait for the next turn.
    await endOfTurn()
    await endOfTurn()
    if (opening) await adapter.close()
  }
  return {
    open() {
      if (closing) return Promise.reject(new Error('the service is closed'))
      if (state === 'open') return undefined
      if (state === 'closed' || (state === 'failed' && performance.now() - failedAt >= PAUSE)) {
        state = 'opening'
        opening = openStorage()
        // The callers receive the failure; without callers, it must not end the process.
        opening.catch(() => {})
      }
      return opening
    },
    isOpen: () => state === 'open' && !closing,
    close() {
      closing ??= closeStorage()
      return closing
    },
    track: work.enter,
    trackAnswer() {
      goesOn()
      return { goesOn, end: answers.enter() }
    },
  }
}

/** Counts running work. */
function createCount(): { enter(): () => void; idle(): Promise<void> } {
  let count = 0
  let onIdle: (() => void) | undefined
  const leave = (): void => {
    count -= 1
    if (count === 0) onIdle?.()
  }
  return {
    enter() {
      count += 1
      return leave
    },
    async idle() {
      if (count === 0) return
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    },
  }
}

/** Polls whether a condition holds. */
function lookFor(holds: () => boolean): { readonly found: Promise<void>; stop(): void } {
  let looking: ReturnType<typeof setInterval> | undefined
  const found = new Promise<void>((resolve) => {
    looking = setInterval(() => {
      if (holds()) resolve()
    }, LOOK)
  })
  return { found, stop: () => clearInterval(looking) }
}
