/**
 * Clients that send random transactions, batches and single writes beside them, over a few documents. What each was
 * sent with and answered is told, so that a history can be put together from it.
 */

/** A generator of random numbers that are the same for the same seed. */
function createRandom(seed) {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const read = (document, more = {}) => ({ document, ...more })
const write = (document, change = {}, more = {}) => ({ document, change, ...more })

/** The documents of a transfer with what they are to hold. */
const move = ([from, to], amount) => [
  [from, { balance: from.balance - amount }],
  [to, { balance: to.balance + amount }],
]

/** What a client does, and how often in proportion. Each gives how its last transaction ended. */
const KINDS = [
  [
    3,
    // A transfer of what was read before, under its tags.
    async ({ pick, random, look, run }) => {
      const moved = move(await look(pick(2)), random(9))
      return run(moved.map(([{ document, etag }, change]) => write(document, change, { ifMatch: etag })))
    },
  ],
  [
    3,
    // The same, where the reads of the batch hold the tags.
    async ({ pick, random, look, run }) => {
      const moved = move(await look(pick(2)), random(9))
      return run([
        ...moved.map(([{ document, etag }]) => read(document, { ifMatch: etag })),
        ...moved.map(([{ document }, change]) => write(document, change)),
      ])
    },
  ],
  // One half of a write skew; the other is that of a client that picks the same two the other way round.
  [6, async ({ pick, run }) => run(pick(2).map((document, i) => (i === 0 ? read : write)(document)))],
  [3, async ({ pick, run }) => run(pick(4).map((document, i) => (i < 3 ? read : write)(document)))],
  [
    2,
    async ({ pick, run }) =>
      run(
        pick(1).map((document) => write(document)),
        'alone',
      ),
  ],
  [
    2,
    async ({ pick, look, run }) => {
      const seen = await look(pick(1), 'alone')
      return run(
        seen.map(({ document, etag }) => write(document, {}, { ifMatch: etag })),
        'alone',
      )
    },
  ],
  // What it writes first is not for others.
  [
    2,
    async ({ pick, run }) => {
      const [one, other] = pick(2)
      return run([write(one), read(other), write(one), read(one), write(other)])
    },
  ],
  [1, async ({ pick, run }) => run(pick(6).map((document) => write(document)))],
  // The seventh operation is refused.
  [1, async ({ pick, run, nothing }) => run([...pick(6).map((document) => write(document)), read(nothing)])],
  [1, async ({ all, run }) => run(all.map((document) => read(document)))],
].flatMap(([times, kind]) => Array(times).fill(kind))

/** What an answer says of a document. */
export const see = (document, { etag, body }) => ({
  document,
  etag,
  balance: body.balance,
  writer: body.writer,
  trail: Object.keys(body.trail),
})

const bodyOf = ({ change }, writer) => ({ ...change, writer, trail: { [writer]: true } })

/** Sends an operation by itself. */
async function sendAlone(send, operation, writer) {
  const { document, change, ifMatch } = operation
  const headers = ifMatch === undefined ? {} : { 'if-match': ifMatch }
  const answer = change
    ? await send('PATCH', document, bodyOf(operation, writer), headers)
    : await send('GET', document, undefined, headers)
  const { status, headers: answered, body } = answer
  return { status, body, results: status < 400 ? [{ etag: answered.get('etag'), body }] : [] }
}

async function sendTogether(send, operations, writers) {
  const { status, body } = await send('POST', '/_batch', {
    operations: operations.map((operation, i) => ({
      method: operation.change ? 'PATCH' : 'GET',
      path: operation.document,
      ...(operation.ifMatch === undefined ? {} : { ifMatch: operation.ifMatch }),
      ...(operation.change ? { body: bodyOf(operation, writers[i]) } : {}),
    })),
  })
  return { status, body, results: status < 400 ? body.results : [] }
}

/** How a transaction ended. What else may be answered is a fault. */
function readOutcome({ status, body }) {
  if (status < 400) return 'done'
  if (body.code === 'outcome_unknown') return 'unknown'
  if ([404, 412].includes(status) || body.code === 'overloaded') return 'refused'
  throw new Error(JSON.stringify(body))
}

/** One client, whose transactions come one after another. */
async function runClient(send, { client, share, documents, nothing, seed }, tell) {
  const random = createRandom(seed)
  let serial = 0
  const pick = (count) => {
    const left = [...documents]
    return Array.from({ length: count }, () => left.splice(random(left.length), 1)[0])
  }
  const run = async (operations, alone) => {
    const id = `${client}-${serial++}`
    const writers = operations.map((_, i) => `${id}.${i}`)
    const sent = writers.filter((_, i) => operations[i].change)
    await tell({ id, client, sent })
    const answer = alone
      ? await sendAlone(send, operations[0], writers[0])
      : await sendTogether(send, operations, writers)
    const outcome = readOutcome(answer)
    const seen = answer.results.map((result, i) => see(operations[i].document, result))
    await tell({
      id,
      outcome,
      reads: seen.filter((_, i) => !operations[i].change),
      writes: seen.filter((_, i) => operations[i].change),
    })
    return { outcome, seen }
  }
  /** What some documents hold. */
  const look = async (some, alone) => {
    for (;;) {
      const { outcome, seen } = await run(
        some.map((document) => read(document)),
        alone,
      )
      if (outcome === 'done') return seen
    }
  }
  const tools = { random, pick, run, look, nothing, all: documents }
  for (let left = share; left > 0; ) {
    const { outcome } = await KINDS[random(KINDS.length)](tools)
    if (outcome === 'done') left -= 1
  }
}

/** Runs several of them at once, each until its share of transactions is done. */
export async function runClients(send, { name, clients, share, seed, ...others }, tell) {
  const running = Array.from({ length: clients }, (_, i) =>
    runClient(
      send,
      { client: `${name}${i}`, share: share ?? Infinity, seed: seed * 1000 + i, ...others },
      tell,
    ),
  )
  await Promise.all(running)
}
