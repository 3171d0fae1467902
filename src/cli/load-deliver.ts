import cluster from 'node:cluster'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toPrintable } from '../service/start/printable.js'
import type { Deliver, Delivery } from '../types/host.js'
import { FileError } from './read-json-file.js'

/** The target that is not a file: the terminal, for development. */
const CONSOLE = 'console'

/**
 * The function that delivers tokens to the owners of accounts: `deliver` of a module, or one that prints them. Throws
 * `FileError`.
 */
export async function loadDeliver(place: string, print: (line: string) => void): Promise<Deliver> {
  if (place === CONSOLE) return (delivery) => print(describeDelivery(delivery))
  const { deliver } = await importModule(place)
  if (typeof deliver !== 'function') throw new FileError(`${place} exports no function "deliver"`)
  return deliver as Deliver
}

/** Identifiers are untrusted text: they must not move the cursor. */
function describeDelivery(delivery: Delivery): string {
  const lines = [`To deliver to ${toPrintable(delivery.to)}: ${delivery.kind}`]
  if ('token' in delivery) lines.push(`  token ${delivery.token}`, `  until ${delivery.expiresAt}`)
  return lines.join('\n')
}

/**
 * Resolves with the module; rejects if the event loop becomes empty first, when the process would end without a
 * message.
 */
async function loadOrEnd<T>(loading: Promise<T>): Promise<T> {
  let give: () => void = () => {}
  const empty = new Promise<never>((_, reject) => {
    give = () => reject(new Error('its top-level await never resolves'))
  })
  process.once('beforeExit', give)
  // The channel to the first process keeps the event loop alive.
  const channel = cluster.isWorker ? process.channel : undefined
  channel?.unref()
  try {
    return await Promise.race([loading, empty])
  } finally {
    channel?.ref()
    process.off('beforeExit', give)
  }
}

async function importModule(place: string): Promise<{ readonly [name: string]: unknown }> {
  const file = resolve(place)
  try {
    return await loadOrEnd(import(pathToFileURL(file).href))
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new FileError(`${place} cannot be used for --deliver: ${reason}`, { cause: thrown })
  }
}
