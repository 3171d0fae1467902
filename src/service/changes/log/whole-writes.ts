import type { Change, ChangePage } from '../../../storage.js'
import type { ReadLog } from '../../store.js'

/** The most pages of one write that are joined: a delete may cascade to any number of documents. */
const MAX_JOINED = 64

/**
 * Reads the log in pages that end between two writes. Changes that are read together are evaluated together, so the
 * number of hidden changes in a write, and their size, must not decide where a page ends (CONTRACT.md §9, "Hidden changes").
 */
export const inWholeWrites =
  (log: ReadLog): ReadLog =>
  async (after, query) => {
    const page = await log(after, query)
    const last = page.changes.at(-1)
    if (!last || !page.more) return page
    const others = page.changes.findLastIndex(({ write }) => write !== last.write) + 1
    if (others > 0) return endAt(page, page.changes.slice(0, others))
    const { wait: _, ...asked } = query
    return joinWrite(page, last.write, (position) => log(position, asked))
  }

/** The same page up to some changes of it. */
function endAt(page: ChangePage, changes: readonly Change[]): ChangePage {
  return { ...page, changes, position: changes.at(-1)?.position ?? page.position, more: true }
}

/** Reads on to the end of a write that exceeds a page on its own. */
async function joinWrite(
  page: ChangePage,
  write: number,
  readOn: (position: string) => Promise<ChangePage>,
): Promise<ChangePage> {
  const changes = [...page.changes]
  let { position } = page
  for (let joined = 1; joined < MAX_JOINED; joined++) {
    const next = await readOn(position)
    // The next read finds changes that are no longer retained.
    if (next.gap) break
    const end = next.changes.findIndex((change) => change.write !== write)
    changes.push(...next.changes.slice(0, end < 0 ? undefined : end))
    if (end >= 0) return endAt(page, changes)
    ;({ position } = next)
    if (!next.more) return { ...page, changes, position, more: false }
  }
  return { ...page, changes, position, more: true }
}
