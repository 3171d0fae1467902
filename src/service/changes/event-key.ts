import { isId } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { decodeBase64url, encodeBase64url } from '../../json/base64url.js'
import type { Bytes } from '../../json/bytes.js'
import { readOwn } from '../../json/own-properties.js'
import type { CollectionPlan } from '../../storage.js'
import type { Store } from '../store.js'

/** The internal collection of keys. The names of a configuration's collections cannot begin with `_`. */
const KEYS = '_keys'

/** What the storage has to know of it. */
export const KEYS_PLAN: CollectionPlan = { name: KEYS, indexes: [] }

const EVENTS = 'events'
const BYTES = 32

/** The key that seals the ids of events: the same for all processes, drawn by the first one that needs it. */
export async function findEventKey(store: Store): Promise<Bytes> {
  return (await readKey(store)) ?? drawKey(store)
}

async function readKey(store: Store): Promise<Bytes | undefined> {
  const stored = await store.own(KEYS).first(isId(EVENTS))
  const text = stored && readOwn(stored, 'key')
  const bytes = typeof text === 'string' ? decodeBase64url(text) : undefined
  return bytes?.length === BYTES ? new Uint8Array(bytes) : undefined
}

const drawKey = async (store: Store): Promise<Bytes> =>
  store.write(async () => {
    const key = crypto.getRandomValues(new Uint8Array(BYTES))
    const insert = { _id: EVENTS, _version: drawFirstVersion(), key: encodeBase64url(key) }
    // Where another process came first, the next attempt finds its key.
    const known = await readKey(store)
    return known
      ? { steps: [], done: known }
      : { steps: [{ in: KEYS, insert }], done: key, refuse: () => undefined }
  })
