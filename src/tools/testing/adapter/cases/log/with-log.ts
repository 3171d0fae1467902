import type { CollectionPlan } from '../../../../../core/storage.js'
import type { AdapterCase, TestStorage } from '../../adapter-case.js'
import { planOf } from '../../check/documents.js'
import { hasLog, type LoggingAdapter } from '../../check/plain-log.js'
import { withAdapters } from '../../check/with-adapter.js'

const DAY = 24 * 60 * 60 * 1000

/** Returns the plan of a collection whose changes are logged. */
export const loggedPlan = (name: string, log: Partial<CollectionPlan['log']> = {}): CollectionPlan => ({
  ...planOf(name),
  log: { omit: [], keep: DAY, ...log },
})

/** Plans of two logged collections, one of which omits fields from the log, and of a collection that is not logged. */
export const LOGGED: readonly CollectionPlan[] = [
  loggedPlan('things'),
  loggedPlan('users', { omit: ['_hush', '_stamp'] }),
  planOf('others'),
]

/** Creates a case that runs with two adapters for one storage. A log is optional, so adapters without a log pass. */
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
