import type { Consumer } from '../../consumers.js'
import { isServiceError } from '../../errors.js'
import type { Service } from '../call.js'
import type { ReadLog, Store } from '../store.js'
import { type LeaseOptions, takeLease } from './lease.js'
import { createRecords } from './records.js'
import { type ConsumerOptions, ConsumerSession } from './session.js'
import { TIMING, type Timing } from './timing.js'

/** The consumers of a service. */
export interface Consumers {
  /** Starts them, once the storage is open; they receive all later changes. */
  begin(): Promise<void>
  /** Stops them. Resolves when all work that they have begun has ended. */
  end(): Promise<void>
}

/** The milliseconds after which a consumer that failed restarts. */
const PAUSE = 1000

/** The storage that consumers read and write. */
interface ConsumerStorage {
  readonly log: ReadLog
  readonly store: Store
}

/** Creates the consumers of a host (CONTRACT.md §9, "Consumers"), by name. */
export function createConsumers(
  { plan, logger }: Pick<Service, 'plan' | 'logger'>,
  consumers: ReadonlyMap<string, Consumer>,
  { log, store }: ConsumerStorage,
  timing: Timing = TIMING,
): Consumers {
  let ending: AbortController | undefined
  let isOver = false
  const running: Promise<void>[] = []
  const all = Array.from(consumers, ([name, { collections: names, handle }]) => {
    const collections = new Map([...plan.collections].filter(([collection]) => names.includes(collection)))
    return { name, handle, collections, log, logger, timing, records: createRecords(store, log, name) }
  })
  return {
    async begin() {
      await Promise.all(all.map(({ records }) => records.ensure()))
      if (ending || isOver) return
      // Not earlier: some runtimes do not allow it at load time.
      ending = new AbortController()
      for (const consumer of all) running.push(runConsumer(consumer, ending.signal))
    },
    async end() {
      isOver = true
      ending?.abort()
      await Promise.all(running)
    },
  }
}

/** Runs a consumer whenever this process holds its lease. */
async function runConsumer(options: ConsumerOptions & LeaseOptions, signal: AbortSignal): Promise<void> {
  const { name, logger, timing } = options
  while (!signal.aborted) {
    try {
      const lease = await takeLease(options, signal)
      if (lease) await new ConsumerSession(options, lease).run(signal)
    } catch (cause) {
      if (signal.aborted) return
      if (isServiceError(cause) && cause.code === 'storage_unavailable')
        logger.warn('a consumer cannot reach the storage; retrying', { consumer: name })
      else logger.error('a consumer failed and restarts', { consumer: name, cause })
      await timing.sleep(PAUSE, signal)
    }
  }
}
