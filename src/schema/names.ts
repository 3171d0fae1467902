import { closestMatch } from 'leven'
import { FIELD_NAME, RESERVED_FIELD_NAMES } from '../fields/names.js'

/** CONTRACT.md §1: names of collections. */
export const COLLECTION_NAME = '^[a-zA-Z][a-zA-Z0-9_-]{0,62}$'

/** Names that match `COLLECTION_NAME` and are no collection's all the same. */
export const RESERVED_COLLECTION_NAMES: readonly string[] = ['auth', 'constructor', 'prototype']

/** The collection of accounts. */
export const USERS = 'users'

/** In every document, beside what the schema declares. */
export const SYSTEM_FIELDS = ['_id', 'createdAt', 'updatedAt', 'createdBy'] as const

const fieldName = new RegExp(FIELD_NAME)

export const isFieldName = (name: string): boolean =>
  fieldName.test(name) && !RESERVED_FIELD_NAMES.includes(name)

export const isSystemField = (name: string): boolean => (SYSTEM_FIELDS as readonly string[]).includes(name)

/** The known name nearest to a misspelt one, if any is near. */
export const findNearest = (name: string, known: readonly string[]): string | undefined =>
  closestMatch(name.slice(0, 64), [...known], { maxDistance: Math.max(2, Math.floor(name.length / 3)) })

/** ` (did you mean "title"?)`, or nothing. */
export function suggest(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === undefined ? '' : `; did you mean ${JSON.stringify(nearest)}?`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text is a UUID as it is stored: in lower case. */
export const isUuid = (text: string): boolean => UUID.test(text)
