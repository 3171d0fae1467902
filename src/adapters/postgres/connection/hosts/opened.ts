import { withinGrace } from '../cancel.js'
import { breakOff } from './find-writer.js'
import type { AnyClient } from './pg.js'

/** A set of open connections. */
export interface Opened {
  readonly all: ReadonlySet<AnyClient>
  add(client: AnyClient): void
  delete(client: AnyClient): void
  /** Resolves when all connections are closed. Destroys connections whose server does not answer. */
  closed(): Promise<void>
}

/** Creates an empty set of connections. */
export function createOpened(): Opened {
  const all = new Set<AnyClient>()
  let onEmpty: (() => void) | undefined
  const tell = (): void => {
    if (all.size === 0) onEmpty?.()
  }
  return {
    all,
    add: (client) => void all.add(client),
    delete(client) {
      all.delete(client)
      tell()
    },
    async closed() {
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve
      })
      tell()
      await withinGrace(empty)
      for (const client of all) breakOff(client)
      await withinGrace(empty)
    },
  }
}
