import type { Connection } from './connection.js'

/**
 * Reads a number that changes with each commit of another connection to the file, but not with this connection's
 * commits.
 */
export const readDataVersion = (connection: Connection): unknown =>
  connection.first('PRAGMA data_version', [])
