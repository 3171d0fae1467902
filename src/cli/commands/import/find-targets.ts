import type { JsonObject } from '../../../types.js'
import { WrittenNumber } from './extended-json.js'

/** A collection of the file whose documents others may reference by `id`. */
export interface ImportTarget {
  readonly name: string
  /** The `_id` of each document, by its `id` as text: json-server finds `"1"` under `1`. */
  readonly ids: ReadonlyMap<string, string>
}

/** A field whose values reference documents of another collection. */
export interface FoundReference {
  readonly target: ImportTarget
  /** Whether a value is an array of ids. */
  readonly isMany: boolean
}

/** A field that is named like a reference, and one of its values that references no document. */
export interface BrokenReference {
  readonly target: ImportTarget
  readonly broken: unknown
}

const REFERENCE = /^(.+?)_?(Ids?|IDs?|ids?)$/

/** Irregular plurals. */
const PLURALS: { readonly [singular: string]: string } = {
  child: 'children',
  foot: 'feet',
  goose: 'geese',
  man: 'men',
  mouse: 'mice',
  person: 'people',
  tooth: 'teeth',
  woman: 'women',
}

/** The possible names of a collection, in lower case. */
function pluralsOf(singular: string): readonly string[] {
  const word = singular.toLowerCase()
  const irregular = Object.entries(PLURALS).flatMap(([one, many]) =>
    word.endsWith(one) ? [word.slice(0, word.length - one.length) + many] : [],
  )
  return [
    ...irregular,
    `${word}s`,
    `${word}es`,
    ...(word.endsWith('y') ? [`${word.slice(0, -1)}ies`] : []),
    ...(word.endsWith('fe') ? [`${word.slice(0, -2)}ves`] : []),
    ...(word.endsWith('f') ? [`${word.slice(0, -1)}ves`] : []),
    word,
  ]
}

/**
 * The parts of a name like `postId`, `post_id` or `postIds`; `paid` and `grids` have the same ending, but are no
 * references.
 */
function splitName(field: string): { readonly base: string; readonly isMany: boolean } | undefined {
  const [, start = '', end = ''] = REFERENCE.exec(field) ?? []
  const base = start.replace(/_$/, '')
  if (base === '' || (/^i/.test(end) && !field.endsWith(`_${end}`))) return undefined
  return { base, isMany: end.endsWith('s') }
}

/** Whether the values of a field with this name are ids: they are never counted or measured. */
export const isIdName = (field: string): boolean => /^_?id$/i.test(field) || splitName(field) !== undefined

/**
 * Finds the collection that the values of a field reference: `postId` or `post_id` one document of `posts`, `postIds`
 * several. `undefined` if the field has no such name, or no value.
 */
export function findTarget(
  field: string,
  documents: readonly JsonObject[],
  targets: readonly ImportTarget[],
): FoundReference | BrokenReference | undefined {
  const split = splitName(field)
  if (!split) return undefined
  const { base, isMany } = split
  const plurals = pluralsOf(base)
  const target = targets.find(({ name }) => plurals.includes(name.toLowerCase()))
  if (!target) return undefined
  const given = documents.flatMap((one) =>
    Object.hasOwn(one, field) && one[field] !== null ? [one[field]] : [],
  )
  if (given.length === 0) return undefined
  const oddlyShaped = isMany ? given.find((value) => !Array.isArray(value)) : undefined
  const named = isMany ? given.flat() : given
  const broken = oddlyShaped ?? named.find((value) => !isName(value) || !target.ids.has(toName(value)))
  if (broken !== undefined) return { target, broken }
  return named.length > 0 ? { target, isMany } : undefined
}

/** Whether a value can reference a document. */
export const isName = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'number' || value instanceof WrittenNumber

/** The text form of a reference: json-server finds `"1"` under `1`. */
export const toName = (value: unknown): string =>
  value instanceof WrittenNumber ? value.text : String(value)
