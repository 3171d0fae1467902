import { explainStructure, nameWhileBuilt } from '../../sql/create-structures.js'
import type { Structure } from '../../sql/structures.js'
import type { Rows, RunStatement } from '../connection/session.js'
import { inTransaction } from '../connection/transaction.js'
import { createElements } from '../elements.js'
import { isLockTimeout } from '../faults.js'
import { BEGIN_STRUCTURES } from './lease.js'
import { type DatabaseSchema, forget, noteBuilding, rename } from './place.js'
import { areKept } from './read-missing.js'

/** The number of documents per transaction, and of transactions per step. */
const BATCH = 200
const BATCHES = 25

/**
 * Lock timeout, and pause before the retry, in milliseconds. The timeout is short because other writes queue up while
 * this one waits for a lock.
 */
const PATIENCE = 100
const PAUSE = 200

const idsOf = (rows: Rows['rows']): readonly string[] => rows.map(({ _id }) => String(_id))

const BEGIN = `${BEGIN_STRUCTURES}; SET LOCAL lock_timeout = '${PATIENCE}ms'`

/** Runs one step of building a table of elements. After the last step, the table is recorded as built. */
export type FillElements = (run: RunStatement, structure: Structure) => Promise<void>

/**
 * Creates the function that builds tables of elements while other processes write. From the first step on, triggers
 * keep a table up to date with new writes; the other steps add the elements of stored documents, in the order of
 * `_id`, and lock these documents until their transaction ends. Adding one twice changes nothing, so a process that
 * resumes the work of another begins at the first document.
 */
export function createFillElements(place: DatabaseSchema): FillElements {
  /** The last document whose entries were added, by table. */
  const done = new Map<string, string>()

  const begin = (run: RunStatement, structure: Structure): Promise<void> =>
    inTransaction(run, BEGIN, async () => {
      const { create, drop } = createElements(place.schema, structure)
      await noteBuilding(run, place, structure)
      if (await areKept(run, place, structure)) return
      for (const statement of [...drop, ...create]) await run(statement)
    })

  /** Adds one batch. Returns whether there are more documents. */
  const addBatch = async (run: RunStatement, structure: Structure): Promise<boolean> => {
    const { fillSome } = createElements(place.schema, structure)
    const ids = await inTransaction(run, BEGIN, async () => {
      const { rows } = await run(
        `SELECT _id FROM ${place.engine.dialect.table(structure.collection)} WHERE _id > $1 ORDER BY _id LIMIT ${BATCH} FOR NO KEY UPDATE`,
        [done.get(structure.name) ?? ''],
      )
      const ids = idsOf(rows)
      if (ids.length > 0) await run(fillSome, [ids])
      return ids
    })
    const last = ids.at(-1)
    if (last !== undefined) done.set(structure.name, last)
    return ids.length === BATCH
  }

  const take = async (run: RunStatement, structure: Structure): Promise<void> => {
    const { name } = structure
    if (!done.has(name)) {
      await begin(run, structure)
      done.set(name, '')
    }
    for (let i = 0; i < BATCHES; i++) {
      if (await addBatch(run, structure)) continue
      await rename(run, place, [nameWhileBuilt(name), name])
      return
    }
  }

  return async (run, structure) => {
    try {
      await take(run, structure)
    } catch (thrown) {
      if (isLockTimeout(thrown)) return new Promise((resolve) => later(resolve, PAUSE))
      const explained = explainStructure(place.engine, structure, thrown)
      if (!explained) throw thrown
      await dropElements(run, place, structure)
      throw explained
    }
  }
}

/** Drops a table of elements with its triggers. */
export async function dropElements(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection }: Pick<Structure, 'name' | 'collection'>,
): Promise<void> {
  const { drop } = createElements(place.schema, { name, collection, fields: [] })
  for (;;) {
    try {
      return await inTransaction(run, BEGIN, async () => {
        for (const statement of drop) await run(statement)
        for (const noted of [name, nameWhileBuilt(name)]) await forget(run, place, noted)
      })
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown
      await new Promise((resolve) => later(resolve, PAUSE))
    }
  }
}

// Captured on load: the fake timers of a test must not stop this module.
const later = setTimeout
