import { explainStructure, nameWhileBuilt, noteStructure, notUnique } from '../../sql/create-structures.js'
import { quoteName } from '../../sql/dialect.js'
import { writeStatement } from '../../sql/statements.js'
import { isOfNewTable, type Structure } from '../../sql/structures.js'
import type { Connections } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { workInTurn } from './in-turn.js'
import { type Place, tableOf } from './place.js'
import { readMissing } from './read-missing.js'

/**
 * Builds missing indexes of tables that are there, one after another, by one process at a time, while others write.
 * Resolves when all are there, whichever process has built them. A unique one that is built stays, for others may count on
 * it by then; so it comes after all that can fail: a start that fails leaves none in force.
 */
export function buildIndexes(
  use: Connections['use'],
  place: Place,
  wanted: readonly Structure[],
): Promise<void> {
  const checked = new Set<string>()
  return workInTurn(use, place, async (run) => {
    const missing = await readMissing(run, place, wanted)
    const isNew = isOfNewTable(missing)
    const indexes = missing.filter((one) => !isNew(one))
    const unchecked = indexes.find(({ name, unique }) => unique && !checked.has(name))
    const next = indexes.find(({ unique }) => !unique) ?? indexes[0]
    if (!unchecked) return next && ((run) => build(run, place, next))
    return async (run) => {
      await check(run, place, unchecked)
      checked.add(unchecked.name)
    }
  })
}

/** Throws where documents have the same values in the fields of a unique index that is not built yet. */
async function check(run: RunStatement, place: Place, structure: Structure): Promise<void> {
  const { dialect } = place.engine
  const values = (structure.unique ?? []).map((field) => dialect.value(field))
  // Sorted, not hashed: how much memory that takes does not depend on the number of documents.
  const { rows } = await run(
    `SELECT (count(*) > count(DISTINCT (${values.join(', ')})))::text AS "hasTwins" FROM ${dialect.table(structure.collection)} WHERE ${values.map((value) => `${value} IS NOT NULL`).join(' AND ')}`,
  )
  if (rows[0]?.hasTwins === 'true') throw notUnique(structure)
}

/** The statement that creates an index while others write, outside of a transaction. */
export const concurrently = ({ sql }: Structure): string =>
  sql.join(';\n').replace('INDEX', 'INDEX CONCURRENTLY')

/** Builds one index. What an interrupted building has left is made anew. */
export async function build(run: RunStatement, place: Place, structure: Structure): Promise<void> {
  const { name } = structure
  const index = `${quoteName(place.schema)}.${quoteName(name)}`
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${index}`
  const building = { ...structure, name: nameWhileBuilt(name) }
  const rename = async (from: string, to: string): Promise<boolean> =>
    (await run(`UPDATE ${tableOf(place)} SET name = $1 WHERE name = $2`, [to, from])).rowCount > 0

  if (!(await rename(name, building.name)) && !(await rename(building.name, building.name))) {
    const { dialect } = place.engine
    const { text, values } = writeStatement(dialect, (bind) => noteStructure(dialect, building, bind))
    await run(text, values)
  }
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
      await run(`DELETE FROM ${tableOf(place)} WHERE name = $1`, [building.name])
      throw explained
    }
  }
  await rename(building.name, name)
}
