import { afterId, BY_ID } from '../../filter/after-id.js'
import { holdsType } from '../../filter/compare.js'
import { and, type FieldRef, type Filter, not } from '../../filter/filter.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import type { Store } from '../../request/store.js'
import type { StoredDocument } from '../../storage.js'
import { ELEMENTS, type StoredType } from './describe-names.js'

/** The documents that have some values: their number, and the first `_id`s. */
export interface FoundValues {
  readonly count: number
  readonly ids: readonly string[]
}

/** The maximum number of `_id`s in a fault. */
export const MAX_IDS = 3

const present = (path: string, type: StoredType): Filter => {
  const field: FieldRef = { path, type, each: false }
  return { kind: 'present', field }
}

/**
 * Finds the documents of a stored collection with a value at a stored path (see `StoredName`). With `except`, only values
 * of other types count. Reads no documents for a path that leads through objects alone.
 */
export async function findValues(
  store: Store,
  collection: string,
  path: readonly string[],
  except?: StoredType,
): Promise<FoundValues> {
  const reader = store.own(collection)
  const [root = ''] = path
  if (!path.includes(ELEMENTS)) {
    const dotted = path.join('.')
    const filter = and([present(dotted, 'json'), ...(except ? [not(present(dotted, except))] : [])])
    const count = await reader.count(filter)
    const first = count === 0 ? [] : await reader.list({ filter, sort: BY_ID, limit: MAX_IDS })
    return { count, ids: first.map(({ _id }) => _id) }
  }
  const holds = except && holdsType(except)
  const isMeant = (value: unknown): boolean => value !== undefined && value !== null && !holds?.(value)
  const ids: string[] = []
  let count = 0
  for (let after = ''; ; ) {
    const { filter, ...page } = afterId(after)
    const documents = await reader.list({ ...page, filter: and([filter, present(root, 'json')]) })
    for (const document of documents)
      if (hasValue(document, path, isMeant)) {
        count += 1
        if (ids.length < MAX_IDS) ids.push(document._id)
      }
    const last: StoredDocument | undefined = documents.at(-1)
    if (!last) return { count, ids }
    after = last._id
  }
}

function hasValue(
  value: unknown,
  [step, ...rest]: readonly string[],
  isMeant: (value: unknown) => boolean,
): boolean {
  if (step === undefined) return isMeant(value)
  if (step === ELEMENTS)
    return Array.isArray(value) && value.some((element) => hasValue(element, rest, isMeant))
  return isObject(value) && hasValue(readOwn(value, step), rest, isMeant)
}
