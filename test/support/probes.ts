import { vi } from 'vitest'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import type { TestService } from './service.js'
import { isOfStart } from './stored.js'

/** Services that are probed (CONTRACT.md §7, "Health"). */

export const NOTES = {
  collections: {
    notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true, create: true } } },
  },
} as const

/** A service that keeps accounts, and secrets that nobody may read. */
export const ACCOUNTS = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', required: true, unique: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
      permissions: { '*': { create: { pick: ['email', 'password'] } } },
    },
    secrets: { schema: { text: { type: 'string' } }, permissions: {} },
  },
} as const

/** What probes get. */
export const LIVE = [200, { status: 'ok' }] as const
export const READY = LIVE
export const FAILING = [503, { status: 'failing' }] as const

/** The status and the body of the response to a probe. */
export async function probe(
  { handler }: Pick<TestService, 'handler'>,
  name: 'live' | 'ready' = 'ready',
): Promise<readonly [number, unknown]> {
  const answer = await handler(new Request(`http://service.test/_health/${name}`))
  return [answer.status, await answer.json()]
}

/** Moves the clock of the questions: the next probe asks the storage again. `vi.restoreAllMocks` undoes it. */
export function pass(): void {
  // A millisecond more: the sum is rounded, and so is the difference of which the service decides.
  const now = performance.now() + 1001
  vi.spyOn(performance, 'now').mockReturnValue(now)
}

/** A storage that counts its calls, and whose methods `next` replaces. */
export function createCounted(
  next: Partial<Pick<StorageAdapter, 'list' | 'write'>> = {},
  documents: { readonly [collection: string]: object[] } = {},
) {
  const inner = createMemoryAdapter({ documents })
  const calls: string[] = []
  const adapter: StorageAdapter = {
    ...inner,
    list(collection, query) {
      if (isOfStart(query)) return inner.list(collection, query)
      calls.push(`list ${collection}`)
      return (next.list ?? inner.list)(collection, query)
    },
    write(steps, options) {
      if (isOfStart(options)) return inner.write(steps, options)
      calls.push(`write ${steps.map((step) => Object.keys(step)[1]).join()}`)
      return (next.write ?? inner.write)(steps, options)
    },
  }
  return { adapter, calls, next, inner }
}
