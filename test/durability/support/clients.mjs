/**
 * Clients that send random transactions, batches and single writes beside them, over a few documents. What each was
 * sent with and answered is told, so that a history can be put together from it.
 */
import { read, TRANSACTIONS } from './transactions.mjs'

/** Numbers below a limit that are the same for the same seed. */
function createRandom(seed) {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** What an answer says of a document. */
export const see = (document, { etag, body }) => ({
  document,
  etag,
  balance: body.balance,
  writer: body.writer,
  trail: Object.keys(body.trail),
})

/** An operation as a batch takes it; a write names itself. */
const operationOf = ({ document, change, ifMatch }, writer) => ({
  method: change ? 'PATCH' : 'GET',
  path: document,
  ...(ifMatch === undefined ? {} : { ifMatch }),
  ...(change ? { body: { ...change, writer, trail: { [writer]: true } } } : {}),
})

/** Sends operations as a batch. */
async function sendTogether(send, operations) {
  const { status, body } = await send('POST', '/_batch', { operations })
  return { status, body, results: body.results ?? [] }
}

/** Sends one operation by itself. */
async function sendAlone(send, [{ method, path, ifMatch, body: sent }]) {
  const conditions = ifMatch === undefined ? {} : { 'if-match': ifMatch }
  const { status, headers, body } = await send(method, path, sent, conditions)
  return { status, body, results: status < 400 ? [{ etag: headers.get('etag'), body }] : [] }
}

/** How a transaction ended. What else may be answered is a fault. */
function readOutcome({ status, body }) {
  if (status < 400) return 'done'
  if (body.code === 'outcome_unknown') return 'unknown'
  if (status === 404 || status === 412 || body.code === 'overloaded') return 'refused'
  throw new Error(JSON.stringify(body))
}

/** One client, whose transactions come one after another. */
async function runClient(send, { client, share, documents, nothing, seed }, tell) {
  const random = createRandom(seed)
  let serial = 0

  const runBy = (sendIt) => async (operations) => {
    const id = `${client}-${serial++}`
    const isWrite = (_, i) => operations[i].change !== undefined
    const isRead = (_, i) => operations[i].change === undefined
    const writers = operations.map((_, i) => `${id}.${i}`)
    await tell({ id, client, sent: writers.filter(isWrite) })
    const answer = await sendIt(
      send,
      operations.map((operation, i) => operationOf(operation, writers[i])),
    )
    const outcome = readOutcome(answer)
    const seen = answer.results.map((result, i) => see(operations[i].document, result))
    await tell({ id, outcome, reads: seen.filter(isRead), writes: seen.filter(isWrite) })
    return { outcome, seen }
  }
  const run = runBy(sendTogether)
  const runOne = runBy(sendAlone)

  /** Reads until it is not refused. */
  const lookBy = (runIt) => async (some) => {
    for (;;) {
      const { outcome, seen } = await runIt(some.map((document) => read(document)))
      if (outcome === 'done') return seen
    }
  }
  const tools = {
    random,
    documents,
    nothing,
    run,
    look: lookBy(run),
    runAlone: (operation) => runOne([operation]),
    lookAlone: async (document) => (await lookBy(runOne)([document]))[0],
    pick(count, some = documents) {
      const left = [...some]
      return Array.from({ length: count }, () => left.splice(random(left.length), 1)[0])
    },
  }
  for (let left = share; left > 0; ) {
    const { outcome } = await TRANSACTIONS[random(TRANSACTIONS.length)](tools)
    if (outcome === 'done') left -= 1
  }
}

/** Runs several of them at once, each until its share of transactions is done. */
export async function runClients(send, { name, clients, share, seed, ...others }, tell) {
  const running = Array.from({ length: clients }, (_, i) => {
    const own = { client: `${name}${i}`, share: share ?? Number.POSITIVE_INFINITY, seed: seed * 1000 + i }
    return runClient(send, { ...own, ...others }, tell)
  })
  await Promise.all(running)
}
