/**
 * The name of the table of a collection. SQLite ignores case in names, so the positions of the capitals are appended.
 * It must not begin with `sqlite_`.
 */
export function tableNameOf(collection: string): string {
  const places = Array.from(collection.matchAll(/[A-Z]/g), ({ index }) => index)
  return places.length === 0 ? `c_${collection}` : `c_${collection.toLowerCase()}:${places.join()}`
}

/** The name of the same table before version 0.2. */
export const formerNameOf = (collection: string): string => `c_${collection}`

/** Counts the tables of a name, case-sensitively. */
export const IS_TABLE = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
