import { everything, isId } from '../filter/filter.js'
import type { StorageAdapter, WriteStep } from '../storage.js'

/** The result of the seeding: the first documents were stored, or they were skipped because documents existed. */
export type SeedOutcome = 'stored' | 'skipped'

/** An adapter that stores first documents. */
export interface Seeding {
  readonly adapter: StorageAdapter
  /**
   * Ends the seeding, and returns its outcome. Call it once when the service is ready, before the first request,
   * because every later write is one of a request.
   */
  finish(): SeedOutcome
}

/**
 * Returns the first steps of the write. They insert and remove a document, the same one in each process, so that
 * concurrent writes run one after another.
 */
const takeTurn = ([name]: readonly string[]): readonly WriteStep[] =>
  name === undefined
    ? []
    : [
        { in: name, insert: { _id: 'seed', _version: 1 } },
        { in: name, remove: isId('seed') },
      ]

/**
 * Wraps a persistent adapter: its first documents are stored if all its collections are empty. If two processes start
 * at the same time, only one stores them, because the write itself fails if it finds documents.
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
      // Internal collections, whose names begin with `_`, do not count.
      names = plans.map(({ name }) => name).filter((name) => !name.startsWith('_'))
      const answers = await Promise.all(names.map(isEmpty))
      phase = answers.every(Boolean) ? 'empty' : 'skipped'
    },
    get seed() {
      return phase === 'empty' ? documents : {}
    },
    async write(steps, options) {
      if (phase !== 'empty') return adapter.write(steps, options)
      const guards = [
        ...takeTurn(names),
        ...names.map((name): WriteStep => ({ in: name, refuse: everything })),
      ]
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
