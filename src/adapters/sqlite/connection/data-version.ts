import type { Connection } from './connection.js'

/** A number that changes with each commit of another connection, but not with commits of this one. */
export const readDataVersion = (connection: Connection): unknown =>
  connection.first('PRAGMA data_version', [])
