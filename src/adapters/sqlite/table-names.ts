/**
 * Returns the name of a collection's table. SQLite ignores case in names, so the positions of capital letters are
 * appended. The prefix is needed, because a name must not begin with `sqlite_`.
 */
export function tableNameOf(collection: string): string {
  const places = Array.from(collection.matchAll(/[A-Z]/g), ({ index }) => index)
  return places.length === 0 ? `c_${collection}` : `c_${collection.toLowerCase()}:${places.join()}`
}

/** Returns the name that versions before 0.2 gave the table of a collection. */
export const formerNameOf = (collection: string): string => `c_${collection}`

/** Counts the tables with this name, which is compared case-sensitively. */
export const IS_TABLE = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
