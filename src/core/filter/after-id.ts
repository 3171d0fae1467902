import { ID } from './filter.js'

/** The maximum number of documents in a page. */
export const PAGE = 500
/** The maximum number of bytes of JSON in a page, unless its first document is larger. */
const BYTES = 4 * 1024 * 1024

/** The order of `_id`. */
export const BY_ID = [{ field: ID, descending: false }]

/**
 * Returns the query for the next page of a collection in the order of `_id`: the documents after the `_id` `after`, or
 * the first ones if it is an empty string.
 */
export const afterId = (after: string) => ({
  filter: { kind: 'gt', field: ID, value: after } as const,
  sort: BY_ID,
  skip: 0,
  limit: PAGE,
  bytes: BYTES,
})
