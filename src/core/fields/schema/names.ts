import { closestMatch } from 'leven'
import { FIELD_NAME, RESERVED_FIELD_NAMES } from '../names.js'

/** The pattern of collection names (CONTRACT.md §1). */
export const COLLECTION_NAME = '^[a-zA-Z][a-zA-Z0-9_-]{0,62}$'

/** Names that match `COLLECTION_NAME` but are reserved. */
export const RESERVED_COLLECTION_NAMES: readonly string[] = ['auth']

/** The name of the collection of accounts. */
export const USERS = 'users'

/** The system field with the `_id` of the caller who created a document. */
export const CREATED_BY = 'createdBy'

/** The fields that documents have besides those of their schema. */
export const SYSTEM_FIELDS = ['_id', 'createdAt', 'updatedAt', 'createdBy'] as const

const fieldName = new RegExp(FIELD_NAME)

/** Whether a schema may declare a field of this name. */
export const isFieldName = (name: string): boolean =>
  fieldName.test(name) && !RESERVED_FIELD_NAMES.includes(name)

/** Whether a document may have an undeclared property of this name. */
export const isFreeName = (
  {
    additionalProperties,
    reserved,
  }: { readonly additionalProperties: boolean; readonly reserved: ReadonlySet<string> },
  name: string,
): boolean => additionalProperties && isFieldName(name) && !reserved.has(name)

/** Whether the service itself sets the field of this name. */
export const isSystemField = (name: string): boolean => (SYSTEM_FIELDS as readonly string[]).includes(name)

/** Returns the known name that is most similar to a misspelt name; `undefined` if none is similar. */
export const findNearest = (name: string, known: readonly string[]): string | undefined =>
  closestMatch(name.slice(0, 64), [...known], { maxDistance: Math.max(2, Math.floor(name.length / 3)) })

/** Returns the end of a message, like `; did you mean "title"?`, or an empty string. */
export function suggest(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === undefined ? '' : `; did you mean ${JSON.stringify(nearest)}?`
}
