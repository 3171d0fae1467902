import type { Config, StorageAdapter } from '../../../src/index.js'
import { createTestService } from '../../support/service.js'
import { type Clients, type Send, see, type Told } from './clients.mjs'
import { type History, readTransactions, type Version } from './history/history.js'

const accounts = {
  schema: {
    balance: { type: 'integer' },
    writer: { type: 'string' },
    trail: { type: 'json' },
  },
  permissions: { '*': { read: true, create: true, update: true } },
} as const

/**
 * Accounts, whose balances have a sum that stays, and which keep the names of all that has written them. There are two
 * collections, for a storage may lock these in different ways.
 */
export const config = { collections: { accounts, deposits: accounts } } satisfies Config

const DOCUMENTS = 6

/** Accounts in a storage, through a service of this process. */
export interface Accounts {
  readonly send: Send
  /** Lets clients run over new documents; gives what has happened to these. */
  run(clients: (documents: Documents) => Promise<readonly Told[]>): Promise<History>
  close(): Promise<void>
}

/** What clients are told of the documents. */
export type Documents = Pick<Clients, 'documents' | 'nothing'>

/** Opens accounts. `count`: so many services send what they are asked in turn, as processes that know nothing of each other. */
export function openAccounts(adapter: StorageAdapter, count = 1): Accounts {
  const service = createTestService(config, { adapter })
  const services = [
    service,
    ...Array.from({ length: count - 1 }, () => createTestService(config, { adapter })),
  ]
  let sent = 0
  const send: Send = (method, path, body, headers = {}) =>
    (services[sent++ % count] ?? service).send(`${method} ${path}`, { body, headers, mayFail: true })
  const create = async (writer: string, i: number): Promise<Version> => {
    const collection = i % 2 === 0 ? '/accounts' : '/deposits'
    const { headers, body } = await service.send(`POST ${collection}`, {
      body: { balance: 100, writer, trail: { [writer]: true } },
    })
    return see(`${collection}/${body._id}`, { etag: headers.get('etag'), body })
  }
  /** All at once: who was killed may still be about to commit. */
  const read = async (documents: readonly string[]): Promise<readonly Version[]> => {
    const operations = documents.map((path) => ({ method: 'GET', path }))
    const { body } = await service.send('POST /_batch', { body: { operations } })
    return documents.map((document, i) => see(document, body.results[i]))
  }
  return {
    send,
    async run(clients) {
      const writers = Array.from({ length: DOCUMENTS }, (_, i) => `first.${i}`)
      const writes = await Promise.all(writers.map(create))
      const documents = writes.map(({ document }) => document)
      const told = await clients({
        documents,
        nothing: '/accounts/00000000-0000-7000-8000-000000000000',
      })
      const last = await read(documents)
      const first = {
        id: 'first',
        client: 'first',
        sent: writers,
        outcome: 'done' as const,
        reads: [],
        writes,
      }
      return { transactions: [first, ...readTransactions(told)], last }
    },
    async close() {
      await Promise.all(services.map(({ handler }) => handler.close()))
    },
  }
}
