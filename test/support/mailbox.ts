import { expect } from 'vitest'
import type { Delivery, ServiceOptions } from '../../src/index.js'

type TokenDelivery = Extract<Delivery, { readonly token: string }>

/** Keeps what is delivered, and waits for what goes on behind answers. */
export interface Mailbox {
  readonly options: Required<Pick<ServiceOptions, 'deliver' | 'background'>>
  /** What was delivered since the last call. */
  take(): Promise<readonly Delivery[]>
  /** The kinds of it, each with the identifier to which it went. */
  kinds(): Promise<readonly string[]>
  /** The token of the only delivery since the last call. */
  token(): Promise<string>
}

export function createMailbox(): Mailbox {
  const delivered: Delivery[] = []
  const underWay: Promise<void>[] = []
  const take = async (): Promise<readonly Delivery[]> => {
    while (underWay.length > 0) await underWay.shift()
    return delivered.splice(0)
  }
  const isToken = (one: Delivery): one is TokenDelivery => 'token' in one
  return {
    options: {
      deliver: (one) => void delivered.push(one),
      background: (work) => void underWay.push(work),
    },
    take,
    kinds: async () => (await take()).map(({ kind, to }) => `${kind} ${to}`),
    async token() {
      const tokens = (await take()).filter(isToken)
      expect(tokens).toHaveLength(1)
      return tokens[0]?.token ?? ''
    },
  }
}
