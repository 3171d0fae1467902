import { hasCode } from './problem.js'
import { ask } from './service.js'

/** What one may do with one document. */
export interface Rights {
  readonly update: boolean
  readonly delete: boolean
}

export const NO_RIGHTS: Rights = { update: false, delete: false }

/** A tag that no document has: whoever may make the change hears 412, and nothing is done. */
const NEVER = { 'if-match': '"-"' }

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
  const way = { headers: NEVER, signal, isQuiet: true }
  const isRefused = async (call: Promise<unknown>): Promise<boolean> => {
    try {
      await call
      return false
    } catch (thrown) {
      return !hasCode(thrown, 'precondition_failed')
    }
  }
  const [noUpdate, noDelete] = await Promise.all([
    !may.update ||
      isRefused(
        ask((client) => client.collection(name).update(id, {}, { signal }), {
          ...way,
          note: 'may you change it? Nothing is stored',
        }),
      ),
    !may.delete ||
      isRefused(
        ask((client) => client.collection(name).delete(id, { signal }), {
          ...way,
          note: 'may you delete it? Nothing is deleted',
        }),
      ),
  ])
  return { update: !noUpdate, delete: !noDelete }
}
