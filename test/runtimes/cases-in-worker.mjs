/** Services of conformance cases in a worker, and requests to them. */
import { createCollectionService } from 'collection-service'

const logger = { info() {}, warn() {}, error() {} }

/** Milliseconds in which what an answer leaves to be done is done: a hash, and `deliver`. */
const BEHIND = 1000

/** Creates the service of a case, or the reason why there is none: `error`. `more`: options beside those of the case. */
export function createCase({ config, options, deliver: isDelivering, clock }, adapter, more = {}) {
  const delivered = []
  const time = { now: Date.parse(clock) }
  const deliver = async (one) => void delivered.push(one)
  try {
    const all = {
      ...options,
      ...more,
      logger,
      ...(isDelivering ? { deliver } : {}),
      ...(clock ? { now: () => time.now } : {}),
    }
    return { handler: createCollectionService(config, adapter, all), isDelivering, delivered, time }
  } catch (error) {
    return { error: { name: error.name, message: error.message } }
  }
}

/** Answers a request that comes in an envelope, so that this runtime makes it and not the client's. */
export const answer = async (service, envelope) =>
  Response.json(await ask(service, envelope).catch((error) => ({ thrown: String(error?.stack ?? error) })))

async function ask(service, { caller, now, url, method, headers, body }) {
  const { handler, isDelivering, delivered, time } = service
  if (now !== undefined) time.now = now
  const request = new Request(url, { method, headers, ...(body === null ? {} : { body: toBytes(body) }) })
  const response = await (caller === undefined ? handler : handler.as(caller))(request)
  const text = await response.text()
  // What is handed over after an answer belongs to its request, which ends here.
  if (isDelivering) await new Promise((resolve) => setTimeout(resolve, BEHIND))
  const all = delivered.splice(0)
  return { status: response.status, headers: [...response.headers], text, delivered: all }
}

const toBytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
