/**
 * The name of the table of a collection. SQLite does not tell names apart by their capitals, so the places of these
 * follow. It may not begin with sqlite_.
 */
export function tableNameOf(collection: string): string {
  const places = Array.from(collection.matchAll(/[A-Z]/g), ({ index }) => index)
  return places.length === 0 ? `c_${collection}` : `c_${collection.toLowerCase()}:${places.join()}`
}

/** The name that a version before 0.2 gave it. */
export const formerNameOf = (collection: string): string => `c_${collection}`

/** Counts the tables of a name, which is compared as it is, capitals and all. */
export const IS_TABLE = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
