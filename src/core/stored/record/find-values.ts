import { afterId, BY_ID } from '../../filter/after-id.js'
import { holdsType } from '../../filter/compare.js'
import { and, type FieldRef, type Filter, not } from '../../filter/filter.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import type { Reader, Store } from '../../request/store.js'
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
    return find(reader, and([present(dotted, 'json'), ...(except ? [not(present(dotted, except))] : [])]))
  }
  const holds = except && holdsType(except)
  const isMeant = (value: unknown): boolean => value !== undefined && value !== null && !holds?.(value)
  return findWhere(reader, root, (document) => hasValue(document, path, isMeant))
}

/**
 * Finds the documents of a stored collection that lack a value at a stored path: inside an object only if the object
 * exists, and in any element of an array. Reads no documents for a path that leads through objects alone.
 */
export async function findLacking(
  store: Store,
  collection: string,
  path: readonly string[],
): Promise<FoundValues> {
  const reader = store.own(collection)
  const [root = '', ...others] = path
  if (!path.includes(ELEMENTS)) {
    const around = others.length === 0 ? [] : [present(path.slice(0, -1).join('.'), 'object')]
    return find(reader, and([...around, not(present(path.join('.'), 'json'))]))
  }
  return findWhere(reader, root, (document) => lacksValue(document, path))
}

async function find(reader: Reader, filter: Filter): Promise<FoundValues> {
  const count = await reader.count(filter)
  const first = count === 0 ? [] : await reader.list({ filter, sort: BY_ID, limit: MAX_IDS })
  return { count, ids: first.map(({ _id }) => _id) }
}

/** Finds documents with a value at a top-level name for which `isFound` is true. */
async function findWhere(
  reader: Reader,
  root: string,
  isFound: (document: StoredDocument) => boolean,
): Promise<FoundValues> {
  const ids: string[] = []
  let count = 0
  for (let after = ''; ; ) {
    const { filter, ...page } = afterId(after)
    const documents = await reader.list({ ...page, filter: and([filter, present(root, 'json')]) })
    for (const document of documents)
      if (isFound(document)) {
        count += 1
        if (ids.length < MAX_IDS) ids.push(document._id)
      }
    const last: StoredDocument | undefined = documents.at(-1)
    if (!last) return { count, ids }
    after = last._id
  }
}

function lacksValue(value: unknown, [step, ...rest]: readonly string[]): boolean {
  if (step === ELEMENTS) return Array.isArray(value) && value.some((element) => lacksValue(element, rest))
  if (step === undefined || !isObject(value)) return false
  const own = readOwn(value, step)
  return rest.length === 0 ? own === undefined || own === null : lacksValue(own, rest)
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
