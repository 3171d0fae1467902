import type { ToldChange } from './log-clients.mjs'

/** A write that was sent, and what is known of it: nothing, where its process was killed. */
export interface SentWrite {
  readonly write: string
  readonly changes: readonly ToldChange[]
  readonly outcome: 'made' | 'refused' | 'unknown'
}

/** What some processes have written, and what was read of it. */
export interface LogHistory {
  readonly writes: readonly SentWrite[]
  /** The whole log, in order. */
  readonly log: readonly ToldChange[]
  /** What others have read of it, while it was written. */
  readonly readers: readonly (readonly ToldChange[])[]
  /** Who wrote each document that is there in the end. */
  readonly stored: ReadonlyMap<string, string>
}

const print = (change: ToldChange | undefined): string => JSON.stringify(change ?? null)

/** What is wrong with a log; empty for nothing. */
export const checkLogHistory = (history: LogHistory): readonly string[] => [
  ...checkVersions(history),
  ...checkWrites(history),
  ...history.readers.flatMap((read, i) => {
    const place = read.findIndex((change, j) => print(change) !== print(history.log[j]))
    return place < 0
      ? []
      : [`reader ${i} has read ${print(read[place])} where there is ${print(history.log[place])}`]
  }),
]

/** Each change of a document begins where the one before has ended, and the last is what is stored. */
function checkVersions({ log, stored }: LogHistory): readonly string[] {
  const present = new Map<string, string | null>()
  const found = log.flatMap((change) => {
    const [id, before, after] = change
    const former = present.get(id) ?? null
    present.set(id, after)
    return former === before ? [] : [`${print(change)} follows ${former}`]
  })
  const ids = new Set([...present.keys(), ...stored.keys()])
  const lost = [...ids].filter((id) => (present.get(id) ?? null) !== (stored.get(id) ?? null))
  return [
    ...found,
    ...lost.map((id) => `${id} ends as ${present.get(id)}, and is stored as ${stored.get(id)}`),
  ]
}

/** The changes of each write are there together, once, in order; or none of them, where that may be. */
function checkWrites({ writes, log }: LogHistory): readonly string[] {
  const texts = log.map(print)
  const explained = new Set<number>()
  const judge = ({ write, changes, outcome }: SentWrite): readonly string[] => {
    const own = changes.map(print)
    const places = own.flatMap((text) => texts.flatMap((other, i) => (other === text ? [i] : [])))
    const [first = 0] = places
    const isWhole = places.length === own.length && places.every((place, i) => place === first + i)
    if (outcome !== 'refused' && isWhole) {
      for (const place of places) explained.add(place)
      return []
    }
    // A removal does not tell whose it is: another write may have made it.
    const isSome = changes.some(([, , after], i) => after !== null && texts.includes(own[i] ?? ''))
    return outcome === 'made' || isSome ? [`${write} was ${outcome}, and is at ${places.join(', ')}`] : []
  }
  const found = writes.flatMap(judge)
  const left = log.filter((_, i) => !explained.has(i))
  return [...found, ...left.map((change) => `nobody made ${print(change)}`)]
}
