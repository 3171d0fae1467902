import { explainStructure, nameWhileBuilt, notUnique } from '../../sql/create-structures.js'
import { quoteName } from '../../sql/dialect.js'
import { isOfElements, isOfNewTable, type Structure } from '../../sql/structures.js'
import type { Connections } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { createFillElements } from './fill-elements.js'
import { workInTurn } from './in-turn.js'
import { type DatabaseSchema, forget, noteBuilding, rename } from './place.js'
import { readMissing } from './read-missing.js'

/**
 * Builds missing indexes of existing tables, one after another, by one process at a time, while other processes
 * write. Resolves when all exist, whichever process built them. A unique index stays once built, because other
 * processes may rely on it; so unique indexes come after all steps that can fail, and a failed start leaves none in
 * force.
 */
export function buildIndexes(
  use: Connections['use'],
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<void> {
  const checked = new Set<string>()
  const fill = createFillElements(place)
  return workInTurn(use, place, async (run) => {
    const missing = await readMissing(run, place, wanted)
    const isNew = isOfNewTable(missing)
    const indexes = missing.filter((one) => !isNew(one))
    const unchecked = indexes.find(({ name, unique }) => unique && !checked.has(name))
    const next = indexes.find(({ unique }) => !unique) ?? indexes[0]
    if (!unchecked) return next && ((run) => (isOfElements(next) ? fill(run, next) : build(run, place, next)))
    return async (run) => {
      await check(run, place, unchecked)
      checked.add(unchecked.name)
    }
  })
}

/** Throws if documents have equal values in the fields of a unique index that is not built yet. */
async function check(run: RunStatement, place: DatabaseSchema, structure: Structure): Promise<void> {
  const { dialect } = place.engine
  const values = (structure.unique ?? []).map((field) => dialect.value(field))
  // Sorted, not hashed: the memory of a sort does not depend on the number of documents.
  const { rows } = await run(
    `SELECT (count(*) > count(DISTINCT (${values.join(', ')})))::text AS "hasTwins" FROM ${dialect.table(structure.collection)} WHERE ${values.map((value) => `${value} IS NOT NULL`).join(' AND ')}`,
  )
  if (rows[0]?.hasTwins === 'true') throw notUnique(structure)
}

/**
 * The statements that create an index, outside of a transaction. Other processes write meanwhile, except to the
 * documents of an index of elements.
 */
export const concurrently = (structure: Structure): string => {
  const sql = structure.sql.join(';\n')
  return isOfElements(structure) ? `BEGIN;\n${sql};\nCOMMIT` : sql.replace('INDEX', 'INDEX CONCURRENTLY')
}

/** Builds one index. The remains of an interrupted build are replaced. */
export async function build(run: RunStatement, place: DatabaseSchema, structure: Structure): Promise<void> {
  const { name } = structure
  const index = `${quoteName(place.schema)}.${quoteName(name)}`
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${index}`

  await noteBuilding(run, place, structure)
  const [found] = (
    await run('SELECT indisvalid::text FROM pg_index WHERE indexrelid = to_regclass($1)', [index])
  ).rows
  if (found?.indisvalid !== 'true') {
    if (found) await run(drop)
    try {
      await run(concurrently(structure))
    } catch (thrown) {
      const explained = explainStructure(place.engine, structure, thrown)
      if (!explained) throw thrown
      await run(drop)
      await forget(run, place, nameWhileBuilt(name))
      throw explained
    }
  }
  await rename(run, place, [nameWhileBuilt(name), name])
}
