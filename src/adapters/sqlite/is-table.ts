/** Counts the tables with this name, which is compared case-sensitively. */
export const IS_TABLE = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
