import type { FieldRef, Filter } from '../../src/core/filter/filter.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import type { StoredDocument, WriteStep } from '../../src/core/storage.js'

/** Documents of a collection `things`, and steps on it. */

export const ref = (path: string, type: FieldRef['type']): FieldRef => ({ path, type, each: false })
export const N = ref('n', 'number')

export const idOf = (i: number): string => `id-${String(i).padStart(4, '0')}`

export const documentOf = (i: number, n: number, version = 1): StoredDocument => ({
  _id: idOf(i),
  _version: version,
  n,
  text: `text ${n}`,
  inner: { list: [{ n }] },
})

/** The first `count` documents, numbered. */
export const documentsTo = (count: number): readonly StoredDocument[] =>
  Array.from({ length: count }, (_, i) => documentOf(i, i))

export const insert = (document: StoredDocument): WriteStep => ({ in: 'things', insert: document })
export const remove = (filter: Filter): WriteStep => ({ in: 'things', remove: filter })
export const replace = (document: StoredDocument): WriteStep => ({
  in: 'things',
  replace: document,
  version: document._version - 1,
})

export const contains = (text: string): Filter => ({
  kind: 'match',
  field: ref('text', 'string'),
  pattern: parsePattern(text, { ignoreCase: false }),
})

export const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen))
