import { BY_ID } from '../filter/after-id.js'
import type { Service } from '../request/call.js'
import { RequestDeadline, START, waitUntilLate } from '../request/deadline.js'
import type { Store } from '../request/store.js'
import { nextTurn } from '../slices.js'
import type { StorageAdapter } from '../storage.js'
import { describeLeft, describeMisfit, listIds } from '../stored/describe.js'
import { createMisfitCounter, UNDECLARED } from '../stored/misfits.js'

/** The maximum number of documents that a start reads: of one collection, and of all. */
const SAMPLE = 200
const SAMPLES = 10_000
/** The maximum number of bytes of JSON that a start reads, unless the first document of a collection is larger. */
const BYTES = 4 * 1024 * 1024

/** The maximum number of `_id`s in a warning. */
const MAX_LISTED = 3

const ignore = (): void => {}

/**
 * Begins to log, in the background, how the stored documents differ from the configuration: one warning for each field
 * and error, and for each unique index of another configuration (CONTRACT.md §7, "Stored documents"). It reads the first
 * documents of each collection, and prints none of their values. A failure is logged too. Returns a function that stops
 * the comparison silently, so that nothing waits for it.
 */
export function warnOfStored(service: Service, adapter: StorageAdapter): () => void {
  let isStopped = false
  let giveUp = ignore
  service.background.begin(async ({ store }) => {
    if (isStopped) return
    const deadline = new RequestDeadline()
    deadline.caller = START
    const onGone = (listener: () => void) => {
      giveUp = listener
      return ignore
    }
    // Less time than other background work has, so that the log names this work.
    const seconds = service.plan.limits.requestSeconds / 2
    try {
      const comparing = compareStored(service, adapter, { store: store.within(deadline), deadline })
      await waitUntilLate(comparing, deadline, { seconds, onGone, onSettled: ignore, discard: ignore })
    } catch (cause) {
      if (isStopped) return
      service.logger.warn('the stored documents cannot be compared with the configuration', { cause })
    }
  })
  return () => {
    isStopped = true
    giveUp()
  }
}

interface Comparison {
  readonly store: Store
  readonly deadline: RequestDeadline
}

async function compareStored(
  { plan, logger }: Service,
  adapter: StorageAdapter,
  { store, deadline }: Comparison,
): Promise<void> {
  const collections = [...plan.collections.values()]
  const limit = Math.max(1, Math.min(SAMPLE, Math.floor(SAMPLES / collections.length)))
  const query = { sort: BY_ID, limit, bytes: Math.floor(BYTES / collections.length) }
  const plans = collections.map(({ storage }) => storage)
  deadline.enter('read')
  const left = (await adapter.leftUnique?.(plans, { signal: deadline.signal, caller: START })) ?? []
  for (const collection of collections) {
    const { name } = collection
    const warn = (code: string, pointer: string, message: string): void =>
      logger.warn(`/collections/${name}${pointer}: ${message}`, { code })
    // Some storages answer at once. Without a pause, no request would be answered between two collections.
    await nextTurn()
    const documents = await store.own(name).list(query)
    const counter = createMisfitCounter(collection)
    for (const document of documents) await counter.note(document)
    // Work that was stopped ends here.
    deadline.enter('read')
    for (const misfit of counter.result()) {
      const code = misfit.error === UNDECLARED ? 'stored_undeclared' : 'stored_misfit'
      const found = `${misfit.count} of the ${documents.length} stored documents that were read`
      warn(code, misfit.pointer, `${describeMisfit(misfit)}; in ${found}: ${listIds(misfit, MAX_LISTED)}`)
    }
    for (const index of left) if (index.collection === name) warn('left_unique', '', describeLeft(index))
  }
}
