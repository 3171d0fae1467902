import type { Client } from '../../../client/client.js'
import { hasCode } from './problem.js'
import { ask } from './service.js'

/** What one may do with one document. */
export interface Rights {
  readonly update: boolean
  readonly delete: boolean
}

export const NO_RIGHTS: Rights = { update: false, delete: false }

/** A tag that no document has: who may make the change hears 412, and nothing is done. */
const NEVER = { 'if-match': '"-"' }

type CollectionCalls = ReturnType<Client['collection']>

/**
 * Asks what one may do with a document. Rules may look at it, so what is granted in general need not be here: the
 * answer to a change that cannot take effect says which it is, for a right is judged before its condition
 * (CONTRACT.md §2, "Order of faults").
 */
export async function findRights(
  name: string,
  id: string,
  may: Rights,
  signal: AbortSignal,
): Promise<Rights> {
  const isAllowed = async (
    isOffered: boolean,
    note: string,
    change: (documents: CollectionCalls) => Promise<unknown>,
  ): Promise<boolean> => {
    if (!isOffered) return false
    try {
      await ask((client) => change(client.collection(name)), { headers: NEVER, signal, isQuiet: true, note })
    } catch (thrown) {
      // Where nobody can say, it may be tried.
      return !hasCode(thrown, 'unauthenticated', 'forbidden', 'not_found')
    }
    return true
  }
  const [update, remove] = await Promise.all([
    isAllowed(may.update, 'may you change it? Nothing is done', (documents) =>
      documents.update(id, {}, { signal }),
    ),
    isAllowed(may.delete, 'may you delete it? Nothing is done', (documents) =>
      documents.delete(id, { signal }),
    ),
  ])
  return { update, delete: remove }
}
