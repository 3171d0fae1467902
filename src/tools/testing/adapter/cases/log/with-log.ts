import type { CollectionPlan } from '../../../../../core/storage.js'
import type { AdapterCase, TestStorage } from '../../adapter-case.js'
import { planOf } from '../../check/documents.js'
import { hasLog, type LoggingAdapter } from '../../check/plain-log.js'
import { withAdapters } from '../../check/with-adapter.js'

const DAY = 24 * 60 * 60 * 1000

/** A collection whose changes are recorded. */
export const loggedPlan = (name: string, log: Partial<CollectionPlan['log']> = {}): CollectionPlan => ({
  ...planOf(name),
  log: { omit: [], keep: DAY, ...log },
})

/** Two logged collections, one of which leaves out fields, and one that is not logged. */
export const LOGGED: readonly CollectionPlan[] = [
  loggedPlan('things'),
  loggedPlan('users', { omit: ['_hush', '_stamp'] }),
  planOf('others'),
]

/** A case for adapters with a log, which is optional, with two of them for one storage. */
export const logCase = (
  name: string,
  run: (first: LoggingAdapter, second: LoggingAdapter, storage: TestStorage) => Promise<void>,
  plans = LOGGED,
): AdapterCase => ({
  name: `log: ${name}`,
  run: (storage) =>
    withAdapters(storage, 2, plans, async ([first, second]) => {
      if (first && second && hasLog(first) && hasLog(second)) await run(first, second, storage)
    }),
})
