import { digest } from '../accounts/auth/token.js'
import { isId } from '../filter/filter.js'
import { drawFirstVersion } from '../first-version.js'
import type { ReadLog, Store } from '../request/store.js'
import type { CollectionPlan, StoredDocument } from '../storage.js'

/** The internal collection of consumers. The names of a configuration's collections cannot begin with `_`. */
const CONSUMERS = '_consumers'

/** Its plan: the storage retains changes after the mark of a consumer longer. */
export const CONSUMERS_PLAN: CollectionPlan = { name: CONSUMERS, indexes: [], mark: 'mark' }

/** A change that was read, and is not handled. */
export interface WaitingChange {
  /** The log position before the change: reading from there gives the change first. */
  readonly after: string
  readonly collection: string
  /** The `_id` of its document. */
  readonly document: string
  /** The time of the change, in milliseconds since 1970. */
  readonly time: number
  /** Identifies the change. */
  readonly id: string
  /** The number of attempts so far. */
  readonly attempt: number
}

/** The progress of a consumer: all changes before `position` are handled except `waiting`. */
export interface ConsumerProgress {
  readonly position: string
  /** In the order of the log. */
  readonly waiting: readonly WaitingChange[]
}

/** The stored record of a consumer. */
export interface ConsumerRecord extends ConsumerProgress {
  readonly version: number
  /** Grows with every write. */
  readonly lease: number
  /** The process that has taken the lease; `null` if it was released. */
  readonly holder: string | null
}

/** Access to the record of one consumer, which all processes share. */
export interface Records {
  /** Creates the record, at the end of the log, if it does not exist. */
  ensure(): Promise<void>
  read(): Promise<ConsumerRecord | undefined>
  /** Replaces the record, unless another process has written since `known`; returns the new one. */
  replace(
    known: ConsumerRecord,
    next: ConsumerProgress & Pick<ConsumerRecord, 'holder'>,
  ): Promise<ConsumerRecord | undefined>
}

/** Creates the access to the record of a consumer. */
export function createRecords(store: Store, log: ReadLog, name: string): Records {
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
    // No other code writes here.
    return { version, lease, holder, position, waiting } as ConsumerRecord
  }
  return {
    read,
    ensure: async () =>
      store.write(async () => {
        if (await read()) return { steps: [], done: undefined }
        const { position } = await log(null, { limit: 1 })
        const version = drawFirstVersion()
        const insert = print({ version, lease: 0, holder: null, position, waiting: [] })
        // If another process came first, the next attempt finds its record.
        return { steps: [{ in: CONSUMERS, insert }], done: undefined, refuse: tryAgain }
      }),
    async replace(known, { position, waiting, holder }) {
      const { version, lease } = known
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

/** After a failed write of a record, nothing is thrown, so that it is retried. */
const tryAgain = (): undefined => undefined
