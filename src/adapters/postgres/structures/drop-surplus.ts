import { once } from 'node:events'
import type { FieldRef } from '../../../filter/filter.js'
import type { CollectionPlan, WriteStep } from '../../../storage.js'
import { nameWhileBuilt } from '../../sql/create-structures.js'
import { quoteName } from '../../sql/dialect.js'
import { structuresOf } from '../../sql/structures.js'
import type { Connections, WorkCaller } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { ENTRY_ID, isNamedElements } from '../elements.js'
import { unavailable } from '../faults.js'
import { build } from './build-indexes.js'
import { dropElements } from './fill-elements.js'
import { workInTurn } from './in-turn.js'
import { type DatabaseSchema, tableOf } from './place.js'

/**
 * Drops indexes over texts that no plan needs, in the collections of some steps, because they reject long texts.
 * Other processes then read without the dropped tables of elements. A dropped unique index is replaced by one over
 * digests. The work continues after its caller has left.
 */
export type DropSurplus = (steps: readonly WriteStep[], caller: WorkCaller) => Promise<void>

/** Creates the function that drops indexes. Indexes that this role may not drop stay. */
export function createDropSurplus(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: ReadonlyMap<string, CollectionPlan>,
): DropSurplus {
  let turn = Promise.resolve()
  return async (steps, { signal }) => {
    turn = turn.then(() => dropFrom(use, place, [...plans.values()], steps)).catch(() => {})
    await (signal ? Promise.race([turn, once(signal, 'abort')]) : turn)
    if (signal?.aborted) throw unavailable(signal.reason)
  }
}

function dropFrom(
  use: Connections['use'],
  place: DatabaseSchema,
  plans: readonly CollectionPlan[],
  steps: readonly WriteStep[],
): Promise<void> {
  const collections = [...new Set(steps.map((step) => step.in))]
  const wanted = structuresOf(plans, place.engine.dialect).map(({ name }) => name)
  return workInTurn(use, place, async (run) => {
    const values = [place.schema, nameWhileBuilt(''), collections, wanted]
    const [found] = (await run(findSurplus(place), values)).rows
    return found && ((run) => drop(run, place, found))
  })
}

const findSurplus = (place: DatabaseSchema): string =>
  `${findIndexes(place)} UNION ALL ${findElements(place)}`

const findIndexes = (place: DatabaseSchema): string =>
  `SELECT indexname::text AS name, collection, bound, 'false' AS "isOfElements" FROM ${tableOf(place)} JOIN pg_indexes ON schemaname = $1 AND indexname = replace(name, $2, '')
WHERE collection = ANY($3) AND NOT indexname = ANY($4) AND replace(indexdef, '"', '') LIKE '%''string''::text THEN (%' AND replace(indexdef, '"', '') NOT LIKE '%sha256(%'`

/** The tables of elements that have texts. */
const findElements = (place: DatabaseSchema): string =>
  `SELECT relname::text, collection, bound, 'true' FROM ${tableOf(place)} JOIN pg_class ON relname = replace(name, $2, '') AND relnamespace = quote_ident($1)::regnamespace
WHERE ${isNamedElements('relname::text')} AND collection = ANY($3) AND NOT relname = ANY($4) AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname <> '${ENTRY_ID}' AND attnum > 0 AND atttypid = 'text'::regtype)`

async function drop(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection, bound, isOfElements }: { readonly [column: string]: unknown },
): Promise<void> {
  if (isOfElements === 'true')
    return dropElements(run, place, { name: String(name), collection: String(collection) })
  const { dialect } = place.engine
  const fields = JSON.parse(String(bound)) as readonly FieldRef[] | null
  const plan = { name: String(collection), indexes: fields ? [{ fields, unique: true }] : [] }
  const entries = dialect.entries && { ...dialect.entries, texts: 0 }
  for (const structure of structuresOf([plan], { ...dialect, entries }))
    if (structure.unique) await build(run, place, structure)
  await run(`DROP INDEX CONCURRENTLY IF EXISTS ${quoteName(place.schema)}.${quoteName(String(name))}`)
  await run(`DELETE FROM ${tableOf(place)} WHERE name LIKE $1`, [`%${name}`])
}
