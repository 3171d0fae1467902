import type { Version } from './history/history.js'

/** What is told of a transaction: when it is sent, and when it is answered. */
export type Told =
  | { readonly id: string; readonly client: string; readonly sent: readonly string[] }
  | {
      readonly id: string
      readonly outcome: 'done' | 'refused' | 'unknown'
      readonly reads: readonly Version[]
      readonly writes: readonly Version[]
    }

export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: { readonly [name: string]: string },
) => Promise<{ readonly status: number; readonly headers: Headers; readonly body: unknown }>

export interface Clients {
  readonly name: string
  readonly clients: number
  /** Transactions that each brings to their end; `null`: as long as it lives. */
  readonly share: number | null
  readonly seed: number
  /** The paths of the documents. */
  readonly documents: readonly string[]
  /** The path of a document that is not there. */
  readonly nothing: string
}

/** What an answer says of a document. */
export function see(
  document: string,
  result: { readonly etag: string | null; readonly body: unknown },
): Version

/** Runs several clients at once, each until its share of transactions is done. */
export function runClients(
  send: Send,
  clients: Clients,
  tell: (told: Told) => void | Promise<void>,
): Promise<void>
