import { nameWhileBuilt, noteStructure } from '../../sql/create-structures.js'
import type { SqlEngine } from '../../sql/engine.js'
import { writeStatement } from '../../sql/statements.js'
import type { Structure } from '../../sql/structures.js'
import type { RunStatement } from '../connection/session.js'

/** A schema of PostgreSQL, and the engine for the tables in it. */
export interface DatabaseSchema {
  readonly schema: string
  readonly engine: SqlEngine
}

/** Returns the name of the table that records structures. */
export const tableOf = ({ engine }: DatabaseSchema): string => engine.dialect.structures.table

/** Changes the name under which a structure is recorded. Returns false if the structure is not recorded. */
export const rename = async (
  run: RunStatement,
  place: DatabaseSchema,
  [from, to]: readonly [from: string, to: string],
): Promise<boolean> =>
  (await run(`UPDATE ${tableOf(place)} SET name = $1 WHERE name = $2`, [to, from])).rowCount > 0

/** Records that a structure is being built. */
export async function noteBuilding(
  run: RunStatement,
  place: DatabaseSchema,
  structure: Structure,
): Promise<void> {
  const { dialect } = place.engine
  const building = { ...structure, name: nameWhileBuilt(structure.name) }
  const isNoted =
    (await rename(run, place, [structure.name, building.name])) ||
    (await rename(run, place, [building.name, building.name]))
  if (isNoted) return
  const { text, values } = writeStatement(dialect, (bind) => noteStructure(dialect, building, bind))
  await run(text, values)
}

/** Deletes the record of a structure. */
export const forget = (run: RunStatement, place: DatabaseSchema, name: string): Promise<unknown> =>
  run(`DELETE FROM ${tableOf(place)} WHERE name = $1`, [name])
