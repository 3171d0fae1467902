/**
 * The transactions that clients send at random. `pick` gives some of the `documents`, `look` reads them in a
 * transaction before, `run` sends a batch and `runAlone` a single request.
 */

/** Reads a document. */
export const read = (document, ifMatch) => ({ document, ifMatch })

/** Writes into a document who wrote it, and what is to be changed. */
const write = (document, change = {}, ifMatch = undefined) => ({ document, change, ifMatch })

/** The writes of a transfer between two documents that were read. */
const move = ([from, to], amount) => [
  [from, { balance: from.balance - amount }],
  [to, { balance: to.balance + amount }],
]

async function transferUnderTags({ pick, random, look, run }) {
  const moves = move(await look(pick(2)), random(9))
  return run(moves.map(([{ document, etag }, change]) => write(document, change, etag)))
}

async function transferBehindReads({ pick, random, look, run }) {
  const moves = move(await look(pick(2)), random(9))
  return run([
    ...moves.map(([{ document, etag }]) => read(document, etag)),
    ...moves.map(([{ document }, change]) => write(document, change)),
  ])
}

/** Half of a write skew: other clients take the same two, of different collections, the other way round. */
function readOneWriteOther({ pick, run, documents }) {
  const [one, other] = pick(2, documents.slice(0, 2))
  return run([read(one), write(other)])
}

function readThreeWriteOther({ pick, run }) {
  const [one, two, three, other] = pick(4)
  return run([read(one), read(two), read(three), write(other)])
}

function writeAlone({ pick, runAlone }) {
  const [one] = pick(1)
  return runAlone(write(one))
}

async function writeAloneUnderTag({ pick, lookAlone, runAlone }) {
  const [one] = pick(1)
  const { document, etag } = await lookAlone(one)
  return runAlone(write(document, {}, etag))
}

/** What it writes first is for nobody else. */
function writeTwice({ pick, run }) {
  const [one, other] = pick(2)
  return run([write(one), read(other), write(one), read(one), write(other)])
}

const writeMany = ({ pick, run }) => run(pick(6).map((one) => write(one)))

/** The last operation is refused. */
const writeNothing = ({ pick, run, nothing }) => run([...pick(6).map((one) => write(one)), read(nothing)])

const readAll = ({ documents, run }) => run(documents.map((one) => read(one)))

/** Each as often as it is sent in proportion. */
export const TRANSACTIONS = [
  [3, transferUnderTags],
  [3, transferBehindReads],
  [6, readOneWriteOther],
  [3, readThreeWriteOther],
  [2, writeAlone],
  [2, writeAloneUnderTag],
  [2, writeTwice],
  [1, writeMany],
  [1, writeNothing],
  [1, readAll],
].flatMap(([times, send]) => Array(times).fill(send))
