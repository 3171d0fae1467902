import type { FieldRef } from '../../../core/filter/filter.js'
import type { CollectionPlan, LeftIndex } from '../../../core/storage.js'
import { explainRecorded, explainStructure, noteStructure, notOurs } from '../../sql/create-structures.js'
import { quoteName, STRUCTURES } from '../../sql/dialect.js'
import { findLeft, findUnique, namesOf, type Recorded } from '../../sql/find-left.js'
import { writeStatement } from '../../sql/statements.js'
import { isOfElements, lacking, lapseLogging, type Structure, structuresOf } from '../../sql/structures.js'
import type { UniqueIndexes } from './compile-write.js'
import { toError } from './faults.js'
import type { ProgramDriver, ProgramOutcome } from './program-driver.js'
import { programEngine, toProgramStatement } from './program-engine.js'
import { readRows } from './read-rows.js'

const { dialect } = programEngine
const { table, order } = dialect.structures

/** Returns the structures that the plans need. Indexes of array elements are left out: they only serve reads. */
const wantedOf = (plans: readonly CollectionPlan[]): readonly Structure[] =>
  structuresOf(
    plans.map((plan) => ({ ...plan, indexes: plan.indexes.filter((index) => !isOfElements(index)) })),
    dialect,
  )

async function readRecorded(driver: ProgramDriver): Promise<readonly Recorded[]> {
  const text = `SELECT count(*) FROM sqlite_schema WHERE name = '${STRUCTURES}'`
  const [count] = await readRows(driver, { text, values: [] })
  // A client may read integers as bigints or as texts.
  if (Number(count) === 0) return []
  const row = `json_object('name', name, 'collection', collection, 'bound', bound)`
  try {
    const rows = await readRows(driver, { text: `SELECT ${row} FROM ${table} ORDER BY ${order}`, values: [] })
    return rows.map((one) => JSON.parse(String(one)) as Recorded)
  } catch (thrown) {
    throw explainRecorded(programEngine, thrown)
  }
}

const run = async (driver: ProgramDriver, texts: readonly string[]): Promise<ProgramOutcome> =>
  driver.write(texts.map((text) => ({ text, values: [] })))

function requireOk(outcome: ProgramOutcome): void {
  if (!outcome.ok && outcome.reason !== 'expected') throw toError(outcome.reason, outcome.cause)
}

/**
 * Creates the missing tables and indexes of the plans, each with a program of its own, and ends the logs that the plans
 * no longer need.
 */
export async function createMissing(driver: ProgramDriver, plans: readonly CollectionPlan[]): Promise<void> {
  const wanted = wantedOf(plans)
  const present = namesOf(await readRecorded(driver))
  const lapses = lapseLogging(plans, present, dialect)
  if (lacking(wanted, present).length + lapses.length === 0) return
  const columns = 'name TEXT NOT NULL PRIMARY KEY, collection TEXT NOT NULL, bound TEXT NOT NULL'
  requireOk(await run(driver, [`CREATE TABLE IF NOT EXISTS ${table} (${columns})`, ...lapses]))
  for (const structure of lacking(wanted, namesOf(await readRecorded(driver))))
    await createStructure(driver, structure)
}

async function createStructure(driver: ProgramDriver, structure: Structure): Promise<void> {
  const note = writeStatement(dialect, (bind) => noteStructure(dialect, structure, bind))
  const program = [
    ...structure.sql.map((text) => ({ text, values: [] })),
    toProgramStatement(note, driver.limits),
  ]
  const outcome = await driver.write(program)
  if (outcome.ok || outcome.reason === 'expected') return
  // Another process may have created it at the same time.
  if (namesOf(await readRecorded(driver)).has(structure.name)) return
  const { reason, cause } = outcome
  if (programEngine.isExisting(cause)) throw notOurs(dialect, structure, cause)
  throw explainStructure(programEngine, structure, cause) ?? toError(reason, cause)
}

/** Reads the unique indexes of all collections, including those of other services. */
export async function readUnique(driver: ProgramDriver): Promise<UniqueIndexes> {
  const unique = new Map<string, (readonly FieldRef[])[]>()
  for (const { collection, bound } of await readRecorded(driver)) {
    const fields = JSON.parse(bound) as readonly FieldRef[] | null
    if (fields) unique.set(collection, [...(unique.get(collection) ?? []), fields])
  }
  return unique
}

/** See `StorageAdapter.leftUnique`. */
export const readLeft = async (
  driver: ProgramDriver,
  plans: readonly CollectionPlan[],
): Promise<readonly LeftIndex[]> => findLeft(wantedOf(plans), await readRecorded(driver))

/** See `StorageAdapter.dropUnique`. */
export async function dropUnique(
  driver: ProgramDriver,
  collection: string,
  fields: readonly string[],
): Promise<void> {
  const found = findUnique(await readRecorded(driver), collection, fields)
  const texts = found.flatMap(({ name }) => [
    `DROP INDEX IF EXISTS ${quoteName(name)}`,
    `DELETE FROM ${table} WHERE name = '${name}'`,
  ])
  if (texts.length > 0) requireOk(await run(driver, texts))
}
