import { type Dependency, findDependencies } from './dependencies.js'
import { findCycle } from './find-cycle.js'
import { groupBy } from './group-by.js'
import { type History, type Version, versionsOf } from './history.js'

/**
 * What shows that transactions did not run one after another, each of them whole or not at all: nothing, if they may
 * have.
 */
export function checkHistory(history: History): readonly string[] {
  const cycle = findCycle(findDependencies(history))
  return [
    ...findChanged(history),
    ...findParts(history),
    ...findSums(history),
    ...(cycle ? [print(cycle)] : []),
  ]
}

/** Versions that were seen in two ways, though nobody wrote in between. */
function findChanged(history: History): readonly string[] {
  const seen = groupBy(versionsOf(history), ({ writer }) => writer)
  return [...seen].flatMap(([writer, versions]) =>
    new Set(versions.map(printContent)).size > 1 ? [`two versions by ${writer}`] : [],
  )
}

const printContent = ({ document, trail, balance, etag }: Version): string =>
  JSON.stringify([document, [...trail].sort(), balance, etag])

/** Transactions that have not left what their outcome promises. */
function findParts(history: History): readonly string[] {
  const seen = trailsOf(versionsOf(history))
  const kept = trailsOf(history.last)
  return history.transactions.flatMap(({ id, sent, outcome }) => {
    const isWhole = sent.every((writer) => kept.has(writer))
    const isNothing = !sent.some((writer) => seen.has(writer))
    if (outcome === 'done') return isWhole ? [] : [`lost: ${id}`]
    if (outcome === 'refused') return isNothing ? [] : [`refused, but seen: ${id}`]
    return isWhole || isNothing ? [] : [`in part: ${id}`]
  })
}

const trailsOf = (versions: readonly Version[]): ReadonlySet<string> =>
  new Set(versions.flatMap(({ trail }) => trail))

/** Reads of all documents that saw another sum than was there in the beginning. */
function findSums({ transactions, last }: History): readonly string[] {
  const [first, ...others] = transactions
  const total = sumOf(first?.writes ?? [])
  const whole = others.filter(({ reads, sent }) => sent.length === 0 && reads.length === last.length)
  return [...whole.map(({ id, reads }) => [id, reads] as const), ['the end', last] as const].flatMap(
    ([id, versions]) => (sumOf(versions) === total ? [] : [`another sum: ${id}`]),
  )
}

const sumOf = (versions: readonly Version[]): number =>
  versions.reduce((sum, { balance }) => sum + balance, 0)

const print = (cycle: readonly Dependency[]): string =>
  [...cycle.map(({ from, why, on }) => `${from} -${why} ${on}-> `), cycle[0]?.from].join('')
