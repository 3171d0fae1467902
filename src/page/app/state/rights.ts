import type { Client } from '../../../client/client.js'
import { hasCode } from './problem.js'
import { ask } from './service.js'

/** The rights on one document. */
export interface Rights {
  readonly update: boolean
  readonly delete: boolean
}

export const NO_RIGHTS: Rights = { update: false, delete: false }

/** A tag that no document has: with the right to change it, the answer is 412, and nothing is changed. */
const NEVER = { 'if-match': '"-"' }

type CollectionCalls = ReturnType<Client['collection']>

/**
 * Checks the rights on a document. Rules may depend on its values, so the rights on the collection do not suffice: the
 * answer to a change that cannot take effect tells, because rights are checked before conditions
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
      // If the answer is unclear, the button is offered.
      return !hasCode(thrown, 'unauthenticated', 'forbidden', 'not_found')
    }
    return true
  }
  const [update, remove] = await Promise.all([
    isAllowed(may.update, 'may you change it? (dry run)', (documents) =>
      documents.update(id, {}, { signal }),
    ),
    isAllowed(may.delete, 'may you delete it? (dry run)', (documents) => documents.delete(id, { signal })),
  ])
  return { update, delete: remove }
}
