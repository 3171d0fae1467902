import { type IpAddress, isInNetwork, type Network } from './ip-address.js'
import type { HeaderReader } from './read-header.js'

/**
 * Finds the address of a client. `list` is the value of the header, and `connection` the address at the other end of
 * the connection, if it is known. Returns `undefined` if the address of the client is unknown.
 */
export type FindClient = (
  reader: HeaderReader,
  list: string,
  connection: IpAddress | undefined,
) => IpAddress | undefined

/**
 * Creates the function for a number of proxies. The client is the entry that the outermost proxy has added. If there
 * are fewer entries, or this one has no address, the client is the other end of the connection.
 */
export const findByCount =
  (count: number): FindClient =>
  (reader, list, connection) => {
    let left = count
    for (const entry of reader.entries(list)) {
      left -= 1
      if (left === 0) return reader.address(entry) ?? connection
    }
    return connection
  }

/**
 * Creates the function for the networks of proxies. It begins with the other end of the connection, and continues with
 * the entry to the left while the address is that of a proxy. The client is the first other address. An entry without
 * an address, or the end of the list, ends the search; the client is then the last proxy.
 */
export const findByNetworks =
  (networks: readonly Network[]): FindClient =>
  (reader, list, connection) => {
    let client = connection
    if (!client) return undefined
    for (const entry of reader.entries(list)) {
      if (!isInOne(client, networks)) return client
      const next = reader.address(entry)
      if (!next) return client
      client = next
    }
    return client
  }

const isInOne = (address: IpAddress, networks: readonly Network[]): boolean =>
  networks.some((network) => isInNetwork(address, network))
