import type { Told } from '../clients.mjs'

/** A version of a document, as an answer showed it. */
export interface Version {
  readonly document: string
  /** The write that made it; no two writes have the same. */
  readonly writer: string
  /** Its own writer and those of all versions before it. */
  readonly trail: readonly string[]
  readonly balance: number
  readonly etag: string
}

/** A transaction as its client knows it. */
export interface Transaction {
  readonly id: string
  /** The transactions of a client come one after another. */
  readonly client: string
  /** The writes that it was sent with. */
  readonly sent: readonly string[]
  /** `unknown`: it was never answered, or by an answer that leaves it open. */
  readonly outcome: 'done' | 'refused' | 'unknown'
  /** What its answer showed. */
  readonly reads: readonly Version[]
  readonly writes: readonly Version[]
}

/** What was done to a few documents, and what they hold in the end. */
export interface History {
  /** Those of each client in their order. */
  readonly transactions: readonly Transaction[]
  readonly last: readonly Version[]
}

/** Puts the transactions together of which clients have told. */
export function readTransactions(told: readonly Told[]): readonly Transaction[] {
  const transactions = new Map<string, Transaction>()
  for (const one of told) {
    const sent = transactions.get(one.id)
    if ('sent' in one) transactions.set(one.id, { ...one, outcome: 'unknown', reads: [], writes: [] })
    else if (sent) transactions.set(one.id, { ...sent, ...one })
  }
  return [...transactions.values()]
}

/** All versions that were seen, as often as they were. */
export const versionsOf = ({ transactions, last }: History): readonly Version[] => [
  ...transactions.flatMap(({ reads, writes }) => [...reads, ...writes]),
  ...last,
]

/** A transaction in one line. */
export const printTransaction = ({ id, outcome, sent, reads, writes }: Transaction): string =>
  `${id} ${outcome}: sent ${sent.join(' ')}, read ${printVersions(reads)}, wrote ${printVersions(writes)}`

const printVersions = (versions: readonly Version[]): string =>
  versions.map(({ writer, trail, balance }) => `${writer} (${balance}, the ${trail.length}th)`).join(' ')
