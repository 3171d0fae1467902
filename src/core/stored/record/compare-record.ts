import type { Collection, ServicePlan } from '../../config/plan.js'
import { ConfigError, type ConfigFault } from '../../errors.js'
import { HASHES, storedNameOf } from '../../fields/names.js'
import { BY_ID } from '../../filter/after-id.js'
import { everything, isId } from '../../filter/filter.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Store } from '../../request/store.js'
import { listIds } from '../describe.js'
import { describeNames, ELEMENTS, listFills, type StoredName } from './describe-names.js'
import { findDropped } from './find-dropped.js'
import { type FoundValues, findLacking, findValues, MAX_IDS } from './find-values.js'
import { isFreshStorage } from './process-lines.js'
import { Progress } from './progress.js'
import {
  eraseKey,
  fillKey,
  identifyNames,
  listUniques,
  pathKey,
  type RecordedName,
  type RecordedNames,
  renewRecord,
  SCHEMA,
  type SchemaRecord,
} from './schema-record.js'

/** What a start knows of the configurations that a storage has had. */
export type KnownRecord = Pick<SchemaRecord, 'names' | 'dropped' | 'erased' | 'finished'>

type Configured = Pick<ServicePlan, 'collections' | 'migrations'>

/** Whether the record is that of a configuration, and nothing is left to do. */
export const isCurrent = (
  record: SchemaRecord | undefined,
  { collections, migrations }: Configured,
): boolean =>
  record !== undefined &&
  record.current === identifyNames(collections.values()) &&
  migrations.every((name) => record.finished.includes(name)) &&
  Array.from(collections.values(), (collection) => judgeErased(collection, record.erased)).flat().length ===
    0 &&
  isNewEnough(record, migrations)

/** Whether a configuration knows the migration that was finished last. */
export const isNewEnough = (
  { finished }: Pick<SchemaRecord, 'finished'>,
  migrations: readonly string[],
): boolean => finished.slice(-1).every((last) => migrations.includes(last))

/**
 * Compares a configuration with the record of the configurations that the storage has had (CONTRACT.md §7, "Earlier
 * configurations"), and records it. Throws `ConfigError` if the stored documents do not fit. `store` uses stored names,
 * `now` is the time. Returns the record.
 */
export async function compareRecord(store: Store, plan: Configured, now: number): Promise<KnownRecord> {
  const { collections, migrations } = plan
  const all = [...collections.values()]
  const current = identifyNames(all)
  return renewRecord(store, async (record) => {
    if (record && isCurrent(record, plan)) return record
    const isFresh = !record && (await isFreshStorage(store, plan, now))
    const finished = isFresh ? migrations : (record?.finished ?? [])
    await requireFit(store, plan, { record, current, finished })
    if (record?.current === current) return record
    const number = (record?.number ?? 0) + 1
    const names = addNames(record?.names ?? new Map(), collections, number)
    const dropped = record ? await findDropped(store, collections, record.names) : []
    const uniques = listUniques(all)
    const filled = [...new Set([...(record?.filled ?? []), ...all.flatMap(listFillKeys)])]
    const previous = record?.current ?? null
    const { erased = [], droppedUniques = [] } = record ?? {}
    return { number, current, previous, names, uniques, filled, finished, erased, droppedUniques, dropped }
  })
}

const listFillKeys = (collection: Collection): readonly string[] =>
  listFills(collection).map((name) => fillKey(collection.storedName, name))

/** Adds the names of a configuration to those that the record knows. */
const addNames = (
  known: RecordedNames,
  collections: ReadonlyMap<string, Collection>,
  last: number,
): RecordedNames =>
  new Map([
    ...known,
    ...Array.from(collections.values(), (collection): [string, ReadonlyMap<string, RecordedName>] => [
      collection.storedName,
      new Map([
        ...(known.get(collection.storedName) ?? []),
        ...describeNames(collection).map(({ path, type }): [string, RecordedName] => [
          pathKey(path),
          { type, last },
        ]),
      ]),
    ]),
  ])

/**
 * Reserves the names of earlier and of erased fields in collections with `additionalProperties`: their values are no free
 * properties, which everybody would see.
 */
export function reserveNames(
  { collections }: Pick<ServicePlan, 'collections'>,
  { names, erased }: Pick<SchemaRecord, 'names' | 'erased'>,
): void {
  for (const { storedName, additionalProperties, fields, reserved } of collections.values()) {
    if (!additionalProperties) continue
    const declared = new Set(fields.map(({ name }) => name))
    for (const path of names.get(storedName)?.keys() ?? []) {
      const [first = '', ...rest] = path.split('.')
      const name = first === HASHES ? (rest[0] ?? '') : first
      if (!declared.has(name)) reserved.add(name)
    }
    for (const key of erased)
      if (key.startsWith(eraseKey(storedName, ''))) reserved.add(key.slice(eraseKey(storedName, '').length))
  }
}

interface Comparison {
  readonly record: SchemaRecord | undefined
  readonly current: string
  readonly finished: readonly string[]
}

/** Throws `ConfigError` if stored values do not fit the configuration, with a fault for each name. */
async function requireFit(
  store: Store,
  { collections, migrations }: Configured,
  { record, current, finished }: Comparison,
): Promise<void> {
  const faults: ConfigFault[] = [...(await judgeMigrations(store, migrations, finished))]
  // The configuration before the last one may come back: its values were shown under these names.
  const isBack = record?.previous === current
  for (const collection of collections.values()) {
    const at = `/collections${toPointerPart(collection.name)}`
    faults.push(...(await judgeFills(store, collection, record?.filled ?? [])))
    if (!record) continue
    faults.push(...judgeErased(collection, record.erased))
    const recorded = record.names.get(collection.storedName)
    if (!recorded) continue
    const isOld = (name: RecordedName): boolean => !isBack && name.last < record.number
    const isWholeOld = recorded.size > 0 && [...recorded.values()].every(isOld)
    if (isWholeOld && !collection.isStoredExplicitly) {
      const { count, ids } = await findAll(store, collection.storedName)
      if (count > 0) {
        const found = `with ${countOf(count)} (${listIds({ count, ids })})`
        faults.push({
          path: at,
          message: `is also the name of an earlier collection, ${found}: ${suggest(collection.storedName)}`,
        })
        continue
      }
    }
    /** The pointers of names with a fault: what is inside them has none of its own. */
    const judged: string[] = []
    for (const name of describeNames(collection)) {
      if (judged.some((pointer) => name.pointer.startsWith(`${pointer}/`))) continue
      const known = recorded.get(pathKey(name.path))
      if (!known) continue
      const seen = { known, isOld: !isWholeOld && isOld(known) }
      const fault = await judgeName(store, collection.storedName, name, seen)
      if (fault === undefined) continue
      judged.push(name.pointer)
      faults.push({ path: at + name.pointer, message: fault })
    }
  }
  if (faults.length > 0) throw new ConfigError(faults, 'The stored documents do not fit the configuration')
}

/** Returns a fault if the configuration is older than the documents, or one for each migration that is not finished. */
async function judgeMigrations(
  store: Store,
  migrations: readonly string[],
  finished: readonly string[],
): Promise<readonly ConfigFault[]> {
  if (!isNewEnough({ finished }, migrations)) {
    const message = `lack ${JSON.stringify(finished.at(-1))}, which was finished last: this configuration is older than the stored documents`
    return [{ path: '/migrations', message }]
  }
  const faults: ConfigFault[] = []
  for (const [i, name] of migrations.entries()) {
    if (finished.includes(name)) continue
    const { failed } = await Progress.read(name, (id) => store.own(SCHEMA).first(isId(id)))
    const left =
      failed.length === 0
        ? ''
        : `; it could not change ${countOf(failed.length)}: ${listIds({ count: failed.length, ids: failed }, MAX_IDS)}`
    const message = `${JSON.stringify(name)} is not finished${left}: run collection-service migrate --migrations FOLDER`
    faults.push({ path: `/migrations/${i}`, message })
  }
  return faults
}

/** Returns a fault for each `fill` whose value documents lack, if no run has given it to all of them. */
async function judgeFills(
  store: Store,
  collection: Collection,
  filled: readonly string[],
): Promise<readonly ConfigFault[]> {
  const faults: ConfigFault[] = []
  for (const name of listFills(collection)) {
    if (filled.includes(fillKey(collection.storedName, name))) continue
    const found = await findLacking(store, collection.storedName, name.path)
    if (found.count === 0) continue
    const lack = `${countOf(found.count)} ${found.count === 1 ? 'lacks' : 'lack'} the field (${listIds(found)})`
    faults.push({
      path: `/collections${toPointerPart(collection.name)}${name.pointer}/fill`,
      message: `${lack}: run collection-service migrate, which gives them ${JSON.stringify(name.field.definition.fill)}`,
    })
  }
  return faults
}

/** Returns a fault for each field that is stored under a name that was erased. */
const judgeErased = (
  { name, storedName, fields }: Collection,
  erased: readonly string[],
): readonly ConfigFault[] =>
  fields.flatMap((field) => {
    const stored = storedNameOf(field)
    if (!erased.includes(eraseKey(storedName, stored))) return []
    const path = `/collections${toPointerPart(name)}/schema${toPointerPart(field.name)}`
    return [
      { path, message: `is stored under an erased name: use another one, such as "stored": "${stored}2"` },
    ]
  })

async function judgeName(
  store: Store,
  collection: string,
  { path, type, isExplicit }: StoredName,
  { known, isOld }: { readonly known: RecordedName; readonly isOld: boolean },
): Promise<string | undefined> {
  const stored = path.findLast((step) => step !== ELEMENTS) ?? ''
  if (known.type !== type && type !== 'json') {
    const found = await findValues(store, collection, path, type)
    if (found.count > 0)
      return `was ${known.type} and is now ${type}, and ${describe(found, 'of another type')}: use another stored name, such as "stored": "${stored}2"`
  }
  if (isExplicit || !isOld) return undefined
  const found = await findValues(store, collection, path)
  return found.count > 0
    ? `is also the name of an earlier field, and ${describe(found, 'of it')}: ${suggest(stored)}`
    : undefined
}

const suggest = (stored: string): string =>
  `if its values are meant, write "stored": ${JSON.stringify(stored)}; otherwise use another stored name`

const countOf = (count: number): string => `${count} stored ${count === 1 ? 'document' : 'documents'}`

const describe = (found: FoundValues, what: string): string =>
  `${countOf(found.count)} ${found.count === 1 ? 'has' : 'have'} a value ${what} (${listIds(found)})`

async function findAll(store: Store, collection: string): Promise<FoundValues> {
  const reader = store.own(collection)
  const count = await reader.count(everything)
  const first = count === 0 ? [] : await reader.list({ sort: BY_ID, limit: MAX_IDS })
  return { count, ids: first.map(({ _id }) => _id) }
}
