import type { ServicePlan } from '../../config/plan.js'
import { storedNameOf } from '../../fields/names.js'
import { BY_ID } from '../../filter/after-id.js'
import { and, everything, type Filter, ID, isId, or } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { Store } from '../../request/store.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import { readBegun, readDropping, readErasing } from './progress.js'
import {
  eraseKey,
  fieldsOfUnique,
  isEmptyStorage,
  listSteps,
  listUniques,
  parseRecord,
  SCHEMA,
  type SchemaRecord,
} from './schema-record.js'

/**
 * The milliseconds for which the line of a process counts after its last renewal. A process that has not renewed its line
 * for half of this time looks at the record before it reads or writes, so clocks may differ by a minute, and a request may
 * take one.
 */
export const LINE_COUNTS = 4 * 60_000

/** The milliseconds after which a line that no longer counts is removed, because its process was killed. */
const LINE_KEPT = 10 * 60_000

/** The line of a process that serves a storage: the parts of its configuration that others need, by stored names. */
export interface ProcessLine {
  readonly id: string
  /** The time of its last renewal, by the clock of the process. */
  readonly at: number
  /** The number that the operating system gave to the process, if there is one. */
  readonly pid: number | null
  readonly migrations: readonly string[]
  /** The names that have `fill` or a normal form (see `listSteps`). */
  readonly steps: readonly string[]
  /** The unique indexes (see `uniqueKey`). */
  readonly uniques: readonly string[]
  readonly collections: { readonly [stored: string]: LineCollection }
}

/** A collection in a line. */
export interface LineCollection {
  /** The top-level names. */
  readonly names: readonly string[]
  readonly additionalProperties: boolean
  readonly erase: readonly string[]
}

type Configured = Pick<ServicePlan, 'collections' | 'migrations'>

/** Describes the configuration of a process. */
export const describeProcess = ({
  collections,
  migrations,
}: Configured): Omit<ProcessLine, 'id' | 'at' | 'pid'> => {
  const all = [...collections.values()]
  return {
    migrations,
    steps: listSteps(all),
    uniques: listUniques(all),
    collections: Object.fromEntries(
      all.map(({ storedName, fields, additionalProperties, erase }): [string, LineCollection] => [
        storedName,
        { names: fields.map(storedNameOf), additionalProperties, erase },
      ]),
    ),
  }
}

const PREFIX = 'process '

const idOf = (id: string): string => PREFIX + id

/** The filter for lines: `!` is the character after the space. */
const ALL_LINES: Filter = and([
  { kind: 'gte', field: ID, value: PREFIX },
  { kind: 'lt', field: ID, value: 'process!' },
])

/** Returns the steps that store or renew a line, and remove lines that have not counted for long. */
export function writeLine({ id, at, ...others }: ProcessLine): readonly WriteStep[] {
  const document: StoredDocument = {
    _id: idOf(id),
    _version: drawFirstVersion(),
    at,
    line: JSON.stringify(others),
  }
  const old: Filter = {
    kind: 'lt',
    field: { path: 'at', type: 'number', each: false },
    value: at - LINE_KEPT,
  }
  return [
    { in: SCHEMA, remove: or([isId(idOf(id)), and([ALL_LINES, old])]) },
    { in: SCHEMA, insert: document },
  ]
}

/** Returns the step that removes a line. */
export const removeLine = (id: string): WriteStep => ({ in: SCHEMA, remove: isId(idOf(id)) })

function parseLine(document: StoredDocument): readonly ProcessLine[] {
  const { _id } = document
  const [at, text] = [readOwn(document, 'at'), readOwn(document, 'line')]
  if (!_id.startsWith(PREFIX) || typeof at !== 'number' || typeof text !== 'string') return []
  return [{ ...JSON.parse(text), id: _id.slice(PREFIX.length), at }]
}

/** The documents of `_schema`. */
export interface StoredSchema {
  readonly record: SchemaRecord | undefined
  /** The migrations that have begun and are not finished. */
  readonly begun: readonly string[]
  /** The names whose values a run has begun to erase (see `eraseKey`). */
  readonly erasing: readonly string[]
  /** The unique indexes that are being dropped (see `uniqueFieldsKey`). */
  readonly dropping: readonly string[]
  readonly lines: readonly ProcessLine[]
}

/** Reads the record, what has begun, and the lines of all processes. */
export async function readSchema(store: Store): Promise<StoredSchema> {
  const documents = await store.own(SCHEMA).list({ filter: everything, sort: BY_ID, limit: null })
  return {
    record: parseRecord(documents.find(({ _id }) => _id === SCHEMA)),
    begun: readBegun(documents),
    erasing: readErasing(documents),
    dropping: readDropping(documents),
    lines: documents.flatMap(parseLine),
  }
}

/**
 * Finds a name that a process could store although its values are erased: one that it declares, or one that can be a free
 * property. `keys` are those of names (see `eraseKey`).
 */
export const findStorable = (
  { collections }: Pick<ProcessLine, 'collections'>,
  keys: readonly string[],
): string | undefined =>
  keys.find((key) =>
    Object.entries(collections).some(([stored, { names, additionalProperties, erase }]) => {
      const isKey = (name: string): boolean => eraseKey(stored, name) === key
      const isFree = additionalProperties && key.startsWith(eraseKey(stored, '')) && !erase.some(isKey)
      return names.some(isKey) || isFree
    }),
  )

/** Finds a unique index that a process declares. `keys` are those of the fields of indexes (see `uniqueFieldsKey`). */
export function findDeclared(
  { uniques }: Pick<ProcessLine, 'uniques'>,
  keys: readonly string[],
): string | undefined {
  const declared = new Set(uniques.map(fieldsOfUnique))
  return keys.find((key) => declared.has(key))
}

/** Returns the lines that count at a time. */
export async function listLines(store: Store, now: number): Promise<readonly ProcessLine[]> {
  const documents = await store.own(SCHEMA).list({ filter: ALL_LINES, sort: BY_ID, limit: null })
  return documents.flatMap(parseLine).filter(({ at }) => now - at < LINE_COUNTS)
}

/**
 * Whether a storage takes a configuration with all its migrations as finished: it has no record and no documents, and no
 * process with an earlier configuration can store any.
 */
export async function isFreshStorage(
  store: Store,
  { collections, migrations }: Configured,
  now: number,
): Promise<boolean> {
  if (!(await isEmptyStorage(store, collections.values()))) return false
  if (migrations.length === 0) return true
  const lines = await listLines(store, now)
  return lines.every((line) => migrations.every((name) => line.migrations.includes(name)))
}
