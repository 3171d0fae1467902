import { isId } from '../filter/filter.js'
import { drawFirstVersion } from '../first-version.js'
import { digest } from '../json/digest.js'
import type { ReadLog, Store } from '../request/store.js'
import type { CollectionPlan, StoredDocument } from '../storage.js'

/** The internal collection of consumers. The names of a configuration's collections cannot begin with `_`. */
const CONSUMERS = '_consumers'

/** The storage plan of this collection. With `mark`, changes after the mark of a consumer are retained longer. */
export const CONSUMERS_PLAN: CollectionPlan = { name: CONSUMERS, indexes: [], mark: 'mark' }

/** A change that was read, and is not handled yet. */
export interface WaitingChange {
  /** The position in the log before the change: the first change that is read from there is this one. */
  readonly after: string
  /** The stored name, because a collection may be renamed while its changes wait. */
  readonly collection: string
  /** The `_id` of its document. */
  readonly document: string
  /** The time of the change, in milliseconds since 1970. */
  readonly time: number
  /** Identifies the change. */
  readonly id: string
  /** The number of attempts that were made. */
  readonly attempt: number
}

/** The progress of a consumer: all changes before `position` are handled, except those in `waiting`. */
export interface ConsumerProgress {
  readonly position: string
  /** In the order of the log. */
  readonly waiting: readonly WaitingChange[]
}

/** The stored record of a consumer. */
export interface ConsumerRecord extends ConsumerProgress {
  readonly version: number
  /** The fencing token: it grows with every write. */
  readonly lease: number
  /** Identifies the process that holds the lease; `null` if the lease was released. */
  readonly holder: string | null
}

/** Access to the record of one consumer, which all processes share. */
export type Records = ReturnType<typeof createRecords>

/** Creates the access to the record of a consumer. */
export function createRecords(store: Store, log: ReadLog, name: string) {
  const _id = digest(`consumer ${name}`)
  const print = ({ version, waiting, position, ...others }: ConsumerRecord): StoredDocument => ({
    _id,
    _version: version,
    name,
    ...others,
    position,
    waiting,
    mark: waiting[0]?.after ?? position,
  })
  const read = async (): Promise<ConsumerRecord | undefined> => {
    const stored = await store.own(CONSUMERS).first(isId(_id))
    if (!stored) return undefined
    const { _version: version, lease, holder, position, waiting } = stored
    // Only this module writes this collection, so the properties have these types.
    return { version, lease, holder, position, waiting } as ConsumerRecord
  }
  return {
    read,
    /** Creates the record, at the end of the log, if it does not exist. */
    ensure: async (): Promise<void> =>
      store.write(async () => {
        if (await read()) return { steps: [], done: undefined }
        const { position } = await log(null, { limit: 1 })
        const version = drawFirstVersion()
        const insert = print({ version, lease: 0, holder: null, position, waiting: [] })
        // If another process creates the record first, the next attempt finds it.
        return { steps: [{ in: CONSUMERS, insert }], done: undefined, refuse: tryAgain }
      }),
    /**
     * Replaces the record, unless another process has written it since `known` was read. Returns the new record, or
     * `undefined` if another process was first.
     */
    async replace(
      { version, lease }: ConsumerRecord,
      { position, waiting, holder }: ConsumerProgress & Pick<ConsumerRecord, 'holder'>,
    ): Promise<ConsumerRecord | undefined> {
      const next = { version: version + 1, lease: lease + 1, holder, position, waiting }
      let isFirst = true
      return store.write(() => {
        const steps = isFirst ? [{ in: CONSUMERS, replace: print(next), version }] : []
        const done = isFirst ? next : undefined
        isFirst = false
        return { steps, done, refuse: tryAgain }
      })
    },
  }
}

/** Throws nothing after a failed write of a record, so that the write is retried. */
const tryAgain = (): undefined => undefined
