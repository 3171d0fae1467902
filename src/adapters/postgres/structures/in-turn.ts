import type { Connections } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { createLease } from './lease.js'
import type { DatabaseSchema } from './place.js'

/** The milliseconds between two looks at what another process does. */
const LOOK = 200

/** Work on structures. */
export type StructureWork = (run: RunStatement) => Promise<void>

/**
 * Does what `findNext` finds to do, one after another, by one process at a time, while others write. Resolves when nothing
 * is left, whichever process has done it.
 */
export async function workInTurn(
  use: Connections['use'],
  place: DatabaseSchema,
  findNext: (run: RunStatement) => Promise<StructureWork | undefined>,
): Promise<void> {
  const lease = createLease(place)
  let isHeld = false
  try {
    for (;;) {
      const next = await use(({ run }) => findNext(run), {})
      if (!next) return
      const wasHeld = isHeld
      isHeld = await use(({ run }) => lease.take(run), {})
      // What was found before it was taken may be done by now.
      if (isHeld && wasHeld) await use(({ run }) => next(run), {}, { mayBeLong: true, mayKeepAlive: true })
      else if (!isHeld) await new Promise((resolve) => later(resolve, LOOK))
    }
  } finally {
    // Else it ends by itself.
    if (isHeld) await use(({ run }) => lease.giveBack(run), {}).catch(() => {})
  }
}

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout
