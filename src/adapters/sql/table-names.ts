/**
 * Returns the name of a collection's table. SQLite ignores case in names, so the positions of capital letters are
 * appended. The prefix keeps names apart from those that begin with `sqlite_`, and from the tables of the adapters.
 */
export function tableNameOf(collection: string): string {
  const places = Array.from(collection.matchAll(/[A-Z]/g), ({ index }) => index)
  return places.length === 0 ? `c_${collection}` : `c_${collection.toLowerCase()}:${places.join()}`
}
