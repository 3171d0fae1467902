import type { Connections } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { createLease } from './lease.js'
import type { DatabaseSchema } from './place.js'

/** Milliseconds between checks while another process holds the lease. */
const LOOK = 200

/** Work on structures. */
export type StructureWork = (run: RunStatement) => Promise<void>

/**
 * Runs the work that `findNext` finds, one after another, by one process at a time, while others write. Resolves when
 * nothing is left, whichever process has done it.
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
      // Work found before the lease was taken may be done by now.
      if (isHeld && wasHeld) await use(({ run }) => next(run), {}, { mayBeLong: true, mayKeepAlive: true })
      else if (!isHeld) await new Promise((resolve) => later(resolve, LOOK))
    }
  } finally {
    // An unreturned lease expires.
    if (isHeld) await use(({ run }) => lease.giveBack(run), {}).catch(() => {})
  }
}

// Captured on load: the fake timers of a test must not stop this module.
const later = setTimeout
