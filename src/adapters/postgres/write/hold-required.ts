import type { WriteStep } from '../../../storage.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { RunStatement } from '../connection/connections.js'

/** The `require` steps that have been asked, and the first of them whose document is not there. */
export interface Held {
  readonly places: ReadonlySet<number>
  readonly missing: number | undefined
}

/**
 * Asks what steps require before any of them is applied, one statement for each collection: so that ten thousand
 * references cost one question. Rows are locked in one order for all, so that writes do not wait for each other in a
 * circle; the locks keep who removes a document waiting until this write is done.
 */
export async function holdRequired(
  run: RunStatement,
  dialect: SqlDialect,
  steps: readonly WriteStep[],
): Promise<Held> {
  const required = findUnchanged(steps)
  const collections = [...new Set(required.map(({ collection }) => collection))].sort()
  const found = new Set<string>()
  for (const collection of collections) {
    const ids = required.filter((one) => one.collection === collection).map(({ id }) => id)
    const text = `SELECT _id FROM ${dialect.table(collection)} WHERE _id = ANY($1::text[]) ORDER BY _id FOR KEY SHARE`
    for (const { _id } of (await run(text, [ids])).rows) found.add(keyOf(collection, String(_id)))
  }
  const missing = required.find(({ collection, id }) => !found.has(keyOf(collection, id)))
  return { places: new Set(required.map(({ place }) => place)), missing: missing?.place }
}

interface Required {
  readonly place: number
  readonly collection: string
  readonly id: string
}

const keyOf = (collection: string, id: string): string => `${collection} ${id}`

/** What steps require that no step before adds or removes: asked first it gives the same answer. */
function findUnchanged(steps: readonly WriteStep[]): readonly Required[] {
  const added = new Set<string>()
  const removedFrom = new Set<string>()
  return steps.flatMap((step, place): readonly Required[] => {
    const { in: collection } = step
    if ('insert' in step) added.add(keyOf(collection, step.insert._id))
    if ('remove' in step) removedFrom.add(collection)
    if (!('require' in step)) return []
    const { require: id } = step
    return removedFrom.has(collection) || added.has(keyOf(collection, id)) ? [] : [{ place, collection, id }]
  })
}
