import { bounds } from '../../../core/bounds.js'
import type { IndexPlan, WriteStep } from '../../../core/storage.js'
import type { SqlDialect, Statement } from '../../sql/dialect.js'
import type { JoinedSteps, SqlEngine } from '../../sql/engine.js'
import type { ManyRecording } from '../log/recording.js'
import { jsonAt } from '../values.js'

/** Returns the unique indexes of a collection. */
export type UniqueOf = (collection: string) => readonly IndexPlan[]

/** Consecutive steps of one kind on one collection, and the parameter for each as JSON. */
interface Run {
  readonly texts: readonly string[]
  readonly next: number
}

/** Collects steps for one statement. `print` returns the JSON of a step, or `undefined` if it does not belong to them. */
function collect(
  steps: readonly WriteStep[],
  from: number,
  isSkipped: (place: number) => boolean,
  print: (step: WriteStep) => string | undefined,
): Run {
  const texts: string[] = []
  let size = 0
  let next = from
  for (let i = from; i < steps.length && size < bounds.joinedCharacters; i++) {
    const step = steps[i]
    if (isSkipped(i)) continue
    const text = step && step.in === steps[from]?.in ? print(step) : undefined
    if (text === undefined) break
    texts.push(text)
    size += text.length
    next = i + 1
  }
  return { texts, next }
}

const writeInserts = ({ table }: SqlDialect, collection: string, texts: readonly string[]): Statement => ({
  text: `INSERT INTO ${table(collection)} (_id, document) SELECT document ->> '_id', document FROM jsonb_array_elements($1::text::jsonb) AS document`,
  values: [`[${texts.join(',')}]`],
})

/**
 * Builds the statement that replaces documents. A document whose values of a unique index change is left out: as rows
 * are changed in any order, it might take a value that a later step gives up.
 */
function writeReplaces(
  { table, storedVersion }: SqlDialect,
  collection: string,
  texts: readonly string[],
  unique: readonly IndexPlan[],
): Statement {
  const document = 'fresh.pair -> 1'
  const paths = new Set(unique.flatMap(({ fields }) => fields.map(({ path }) => path)))
  const conditions = [
    `_id = (${document} ->> '_id')`,
    `${storedVersion} = (fresh.pair -> 0)`,
    ...Array.from(paths, (path) => `${jsonAt(path)} IS NOT DISTINCT FROM ${jsonAt(path, document)}`),
  ]
  const former = `SELECT _id AS id, document AS before, ${document} AS after FROM ${table(collection)}, jsonb_array_elements($1::text::jsonb) AS fresh(pair) WHERE ${conditions.join(' AND ')}`
  return {
    text: `UPDATE ${table(collection)} SET document = former.after FROM (${former}) AS former WHERE _id = former.id`,
    values: [`[${texts.join(',')}]`],
  }
}

/** Creates the function that joins steps. See `SqlEngine.join`. */
export const createJoin =
  (dialect: SqlDialect, uniqueOf: UniqueOf, recording?: ManyRecording): NonNullable<SqlEngine['join']> =>
  (steps, from, isSkipped): JoinedSteps | undefined => {
    const step = steps[from]
    if (!step) return undefined
    const { in: collection } = step
    const recorder = recording?.of(collection)
    if ('insert' in step) {
      const { texts, next } = collect(steps, from, isSkipped, (one) =>
        'insert' in one ? JSON.stringify(one.insert) : undefined,
      )
      const inserts = writeInserts(dialect, collection, texts)
      return { ...(recorder?.insertMany(inserts) ?? inserts), count: texts.length, next }
    }
    if (!('replace' in step)) return undefined
    const ids = new Set<string>()
    const { texts, next } = collect(steps, from, isSkipped, (one) => {
      if (!('replace' in one) || ids.has(one.replace._id)) return undefined
      ids.add(one.replace._id)
      return `[${one.version},${JSON.stringify(one.replace)}]`
    })
    // A single document needs no search, and its statement is the same in all writes.
    if (texts.length < 2) return undefined
    const replaces = writeReplaces(dialect, collection, texts, uniqueOf(collection))
    return { ...(recorder?.replaceMany(replaces) ?? replaces), count: texts.length, next }
  }
