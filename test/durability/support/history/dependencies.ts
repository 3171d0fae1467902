import { groupBy } from './group-by.js'
import type { History, Transaction } from './history.js'
import { findOverwrites, type Overwrite } from './version-order.js'

/** Why one transaction comes before another. */
export interface Dependency {
  readonly from: string
  readonly to: string
  /**
   * `ww`: the second overwrote what the first wrote; `wr`: it read that; `rw`: it overwrote what the first read;
   * `then`: its client sent it after the first was answered.
   */
  readonly why: 'ww' | 'wr' | 'rw' | 'then'
  /** Of `then`, the client. */
  readonly on: string
}

/** A transaction saw a version, be it because it overwrote it. */
interface Sight {
  readonly id: string
  readonly writer: string
  readonly document: string
}

/** The dependencies between the transactions of a history. */
export function findDependencies(history: History): readonly Dependency[] {
  const { transactions } = history
  const owners = new Map(transactions.flatMap(({ id, sent }) => sent.map((writer) => [writer, id])))
  const ownerOf = (writer: string): string => owners.get(writer) ?? '?'
  const overwrites = findOverwrites(history)
  const next = groupBy(overwrites, ({ before }) => before)
  const sights: readonly Sight[] = [
    ...transactions.flatMap(({ id, reads }) =>
      reads.map(({ writer, document }) => ({ id, writer, document })),
    ),
    ...overwrites
      .filter(({ isCertain }) => isCertain)
      .map(({ before, after, document }) => ({ id: ownerOf(after), writer: before, document })),
  ]
  const all: readonly Dependency[] = [
    ...overwrites.map(({ before, after, document }) => ({
      from: ownerOf(before),
      to: ownerOf(after),
      why: 'ww' as const,
      on: document,
    })),
    ...sights.flatMap(({ id, writer, document }): readonly Dependency[] => [
      { from: ownerOf(writer), to: id, why: 'wr', on: document },
      ...(next.get(writer) ?? []).map(({ after }: Overwrite) => ({
        from: id,
        to: ownerOf(after),
        why: 'rw' as const,
        on: document,
      })),
    ]),
    ...findTurns(transactions),
  ]
  return all.filter(({ from, to }) => from !== to)
}

/** What a client sent behind what it was answered; a transaction whose end is unknown may end later. */
function findTurns(transactions: readonly Transaction[]): readonly Dependency[] {
  const lasts = new Map<string, string>()
  return transactions.flatMap(({ id, client, outcome }) => {
    if (outcome !== 'done') return []
    const last = lasts.get(client)
    lasts.set(client, id)
    return last === undefined ? [] : [{ from: last, to: id, why: 'then', on: client }]
  })
}
