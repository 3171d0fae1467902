import { everything } from '../../filter/filter.js'
import type { StorageAdapter, WriteStep } from '../../storage.js'

/** What became of documents to begin with. */
export type SeedOutcome = 'stored' | 'skipped'

/** An adapter that begins with documents, and what became of them. */
export interface Seeding {
  readonly adapter: StorageAdapter
  /** To be asked once, when the service is ready and nobody has been served yet: from then on writes are those of requests. */
  finish(): SeedOutcome
}

/**
 * Gives an adapter that lasts documents to begin with, for when none of the collections that it is opened with holds
 * one. Two processes that begin at once do not both store them: the write itself refuses where it finds documents.
 */
export function seedWhenEmpty(
  adapter: StorageAdapter,
  documents: NonNullable<StorageAdapter['seed']>,
): Seeding {
  let phase: 'closed' | 'empty' | 'skipped' | 'finished' = 'closed'
  let names: readonly string[] = []
  const isEmpty = async (name: string): Promise<boolean> => {
    const found = await adapter.list(name, { filter: everything, sort: [], skip: 0, limit: 1 })
    return found.length === 0
  }
  const seeding: StorageAdapter = {
    ...adapter,
    async open(plans) {
      await adapter.open(plans)
      // Sessions are nobody's documents; no collection of a configuration begins so.
      names = plans.map(({ name }) => name).filter((name) => !name.startsWith('_'))
      const answers = await Promise.all(names.map(isEmpty))
      phase = answers.every(Boolean) ? 'empty' : 'skipped'
    },
    get seed() {
      return phase === 'empty' ? documents : {}
    },
    async write(steps, options) {
      if (phase !== 'empty') return adapter.write(steps, options)
      const guards = names.map((name): WriteStep => ({ in: name, refuse: everything }))
      const result = await adapter.write([...guards, ...steps], options)
      if (result.ok) return result
      if (result.reason !== 'found') return { ...result, step: result.step - guards.length }
      phase = 'skipped'
      return { ok: true, removed: 0 }
    },
  }
  return {
    adapter: seeding,
    finish() {
      const outcome = phase === 'empty' ? 'stored' : 'skipped'
      phase = 'finished'
      return outcome
    },
  }
}
