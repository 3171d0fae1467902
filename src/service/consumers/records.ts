import { digest } from '../../auth/token.js'
import { isId } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import type { CollectionPlan, StoredDocument } from '../../storage.js'
import type { ReadLog, Store } from '../store.js'

/** The internal collection of consumers. The names of a configuration's collections cannot begin with `_`. */
const CONSUMERS = '_consumers'

/** What the storage has to know of it: what lies behind the mark of a consumer is kept longer. */
export const CONSUMERS_PLAN: CollectionPlan = { name: CONSUMERS, indexes: [], mark: 'mark' }

/** A change that was read, and is not handled. */
export interface WaitingChange {
  /** The position before it: it is the first change behind. */
  readonly after: string
  readonly collection: string
  /** The `_id` of its document. */
  readonly document: string
  /** When it was made, in milliseconds since 1970. */
  readonly time: number
  /** Its name, which tells it from all others. */
  readonly id: string
  /** How often it was tried. */
  readonly attempt: number
}

/** How far a consumer is: all that lies before `position` is handled, but for what is waiting. */
export interface ConsumerProgress {
  readonly position: string
  /** In the order of the log. */
  readonly waiting: readonly WaitingChange[]
}

/** What is stored of a consumer. */
export interface ConsumerRecord extends ConsumerProgress {
  readonly version: number
  /** Grows with every write. */
  readonly lease: number
  /** Who has taken the lease; `null` where it was given back. */
  readonly holder: string | null
}

/** The stored record of one consumer, which all processes share. */
export interface Records {
  /** Creates it, at the end of the log, where it does not exist. */
  ensure(): Promise<void>
  read(): Promise<ConsumerRecord | undefined>
  /** Replaces it, unless somebody else has written since it was `known`; gives the new one. */
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
    // Nobody else writes here.
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
        // Where another process came first, the next attempt finds what it has written.
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

/** What a failed write of a record does. */
const tryAgain = (): undefined => undefined
