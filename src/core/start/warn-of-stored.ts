import { ID } from '../filter/filter.js'
import type { Service } from '../request/call.js'
import type { Store } from '../request/store.js'
import type { StorageAdapter } from '../storage.js'
import { describeLeft, describeMisfit, listIds } from '../stored/describe.js'
import { createTally, UNDECLARED } from '../stored/misfits.js'

/** The maximum number of documents that a start reads: of one collection, and of all. */
const SAMPLE = 200
const SAMPLES = 10_000
/** The maximum number of bytes of JSON that a start reads, unless the first document of a collection is larger. */
const BYTES = 4 * 1024 * 1024

/** The maximum number of `_id`s in a warning. */
const MAX_LISTED = 3

const SORT = [{ field: ID, descending: false }]

/**
 * Begins to log, in the background, how the stored documents differ from the configuration: one warning for each field
 * and error, and for each unique index of another configuration (CONTRACT.md §7, "Stored documents"). It reads the first
 * documents of each collection, and prints none of their values. A failure is logged too.
 */
export function warnOfStored(service: Service, adapter: StorageAdapter): void {
  service.background.begin(async ({ store }) => {
    try {
      await compareStored(service, adapter, store)
    } catch (cause) {
      service.logger.warn('the stored documents cannot be compared with the configuration', { cause })
    }
  })
}

async function compareStored(
  { plan, logger }: Service,
  adapter: StorageAdapter,
  store: Store,
): Promise<void> {
  const collections = [...plan.collections.values()]
  const limit = Math.max(1, Math.min(SAMPLE, Math.floor(SAMPLES / collections.length)))
  const query = { sort: SORT, limit, bytes: Math.floor(BYTES / collections.length) }
  const left = (await adapter.leftUnique?.(collections.map(({ storage }) => storage))) ?? []
  for (const collection of collections) {
    const { name } = collection
    const warn = (code: string, pointer: string, message: string): void =>
      logger.warn(`/collections/${name}${pointer}: ${message}`, { code })
    const documents = await store.own(name).list(query)
    const tally = createTally(collection)
    for (const document of documents) await tally.note(document)
    for (const misfit of tally.result()) {
      const code = misfit.error === UNDECLARED ? 'stored_undeclared' : 'stored_misfit'
      const found = `${misfit.count} of the ${documents.length} stored documents that were read`
      warn(code, misfit.pointer, `${describeMisfit(misfit)}; in ${found}: ${listIds(misfit, MAX_LISTED)}`)
    }
    for (const index of left) if (index.collection === name) warn('left_unique', '', describeLeft(index))
  }
}
