import { once } from 'node:events'
import type { FieldRef } from '../../../filter/filter.js'
import type { CollectionPlan, WriteStep } from '../../../storage.js'
import { nameWhileBuilt } from '../../sql/create-structures.js'
import { quoteName } from '../../sql/dialect.js'
import { structuresOf } from '../../sql/structures.js'
import type { Caller, Connections } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { unavailable } from '../faults.js'
import { build } from './build-indexes.js'
import { workInTurn } from './in-turn.js'
import { type Place, tableOf } from './place.js'

/**
 * Drops the indexes over texts in the collections of some steps that no plan asks for, because they refuse long texts. What
 * a unique one binds, another binds by digests. It goes on when its caller leaves.
 */
export type DropSurplus = (steps: readonly WriteStep[], caller: Caller) => Promise<void>

/** Creates what drops indexes. Where this role may not, they stay. */
export function createDropSurplus(
  use: Connections['use'],
  place: Place,
  plans: ReadonlyMap<string, CollectionPlan>,
): DropSurplus {
  let turn = Promise.resolve()
  return async (steps, { signal }) => {
    turn = turn
      .then(() => {
        const collections = [...new Set(steps.map((step) => step.in))]
        const wanted = structuresOf([...plans.values()], place.engine.dialect).map(({ name }) => name)
        return workInTurn(use, place, async (run) => {
          const values = [place.schema, nameWhileBuilt(''), collections, wanted]
          const [found] = (await run(findSurplus(place), values)).rows
          return found && ((run) => drop(run, place, found))
        })
      })
      .catch(() => {})
    await (signal ? Promise.race([turn, once(signal, 'abort')]) : turn)
    if (signal?.aborted) throw unavailable(signal.reason)
  }
}

const findSurplus = (place: Place): string =>
  `SELECT indexname::text AS name, collection, bound FROM ${tableOf(place)} JOIN pg_indexes ON schemaname = $1 AND indexname = replace(name, $2, '')
WHERE collection = ANY($3) AND NOT indexname = ANY($4) AND replace(indexdef, '"', '') LIKE '%''string''::text THEN (%' AND replace(indexdef, '"', '') NOT LIKE '%sha256(%'`

async function drop(
  run: RunStatement,
  place: Place,
  { name, collection, bound }: { readonly [column: string]: unknown },
): Promise<void> {
  const { dialect } = place.engine
  const fields = JSON.parse(String(bound)) as readonly FieldRef[] | null
  const plan = { name: String(collection), indexes: fields ? [{ fields, unique: true }] : [] }
  const entries = dialect.entries && { ...dialect.entries, texts: 0 }
  for (const structure of structuresOf([plan], { ...dialect, entries }))
    if (structure.unique) await build(run, place, structure)
  await run(`DROP INDEX CONCURRENTLY IF EXISTS ${quoteName(place.schema)}.${quoteName(String(name))}`)
  await run(`DELETE FROM ${tableOf(place)} WHERE name LIKE $1`, [`%${name}`])
}
