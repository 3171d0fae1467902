import type { ServicePlan } from '../config/plan.js'
import { ConfigError } from '../errors.js'
import { toPointerPart } from '../json/pointer.js'
import { UNHURRIED } from '../request/deadline.js'
import { createStore } from '../request/store.js'
import type { LeftIndex, StorageAdapter } from '../storage.js'
import { storedPlan } from '../stored/names/renamed-storage.js'
import { findDeclared, listLines, readSchema } from '../stored/record/process-lines.js'
import { storeDropping } from '../stored/record/progress.js'
import { fieldsOfUnique, listUniques, noteDropped, uniqueFieldsKey } from '../stored/record/schema-record.js'
import { describeLines } from './run-steps.js'
import { Turn } from './turn.js'

/** A unique index, by stored names: its fields are dotted paths, in any order. */
export type UniqueFields = Pick<LeftIndex, 'collection' | 'fields'>

/** The input of a drop. */
interface Drop {
  readonly plan: Pick<ServicePlan, 'collections'>
  readonly now: () => number
  readonly signal: AbortSignal
}

/**
 * Drops a unique index that an earlier configuration declared and `plan` does not (CONTRACT.md §7, "Dropping a unique
 * index"). `storage` is open, and uses stored names. Throws `ConfigError` if the index is declared or does not exist, or if a
 * process that declares it serves.
 */
export async function dropUnique(
  storage: StorageAdapter,
  { collection, fields }: UniqueFields,
  { plan, now, signal }: Drop,
): Promise<void> {
  if (!storage.leftUnique || !storage.dropUnique) throw refuse('the storage keeps no unique indexes')
  const key = uniqueFieldsKey(collection, fields)
  const found = [...plan.collections.values()]
  const named = found.find(({ storedName }) => storedName === collection)
  if (listUniques(found).some((unique) => fieldsOfUnique(unique) === key))
    throw refuse(`${key} is unique in this configuration`, named?.name)
  const records = createStore(storage, UNHURRIED)
  const turn = new Turn(storage, signal)
  await turn.take()
  try {
    const { dropping } = await readSchema(records)
    // A drop that was interrupted may have dropped the index already.
    if (!dropping.includes(key)) requireLeft(key, await storage.leftUnique(found.map(storedPlan)))
    const others = dropping.filter((other) => other !== key)
    // Each process stores its line before it looks, so it sees this, or its line is seen here.
    await turn.write(storeDropping([...others, key]))
    const lines = (await listLines(records, now())).filter((line) => findDeclared(line, [key]) !== undefined)
    if (lines.length > 0) {
      await turn.write(storeDropping(others))
      const what = `is declared by processes that serve: ${describeLines(lines, now())}`
      throw refuse(`${key} ${what}`, named?.name)
    }
    // Recorded first: a process that resumes after a pause must not write without its index.
    await noteDropped(records, key)
    await storage.dropUnique(collection, fields)
    await turn.write(storeDropping(others))
  } finally {
    await turn.release()
  }
}

/** Throws `ConfigError` if an index is not one of those that are left. */
function requireLeft(key: string, left: readonly LeftIndex[]): void {
  const keys = left.map(({ collection, fields }) => uniqueFieldsKey(collection, fields))
  if (keys.includes(key)) return
  const others =
    keys.length === 0
      ? 'the storage has none that this configuration does not declare'
      : `the storage has these, which this configuration does not declare: ${keys.join('; ')}`
  throw refuse(`there is no unique index ${key}; ${others}`)
}

const refuse = (message: string, collection?: string): ConfigError =>
  new ConfigError(
    [{ path: collection === undefined ? '' : `/collections${toPointerPart(collection)}`, message }],
    'The unique index cannot be dropped',
  )
