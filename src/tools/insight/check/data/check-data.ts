import type { Demand } from '../../../../core/claims/query/demands.js'
import type { Collection } from '../../../../core/config/plan.js'
import { afterId } from '../../../../core/filter/after-id.js'
import { compileField } from '../../../../core/filter/compare.js'
import { compileFilter, type Predicate } from '../../../../core/filter/matches.js'
import { OWNER } from '../../../../core/permissions/grants.js'
import { buildCondition, isOperator } from '../../../../core/query/condition.js'
import type { IndexPlan, LeftIndex, StoredDocument } from '../../../../core/storage.js'
import {
  type CountedMisfit,
  createMisfitCounter,
  MAX_IDS,
  UNDECLARED,
} from '../../../../core/stored/misfits.js'
import { leftOf, storedPlan, storedReader } from '../../../../core/stored/names/renamed-storage.js'
import { compileForInsight } from '../../compile.js'
import type { InsightOptions } from '../../options.js'
import { variablesIn } from '../satisfy.js'
import { type CheckScope, createScope, type LocatedRule } from '../scope.js'
import { createStepCounter, type PendingStep } from './pending-steps.js'
import type { StoredCount, StoredDocuments } from './stored-documents.js'

/** The documents that have the same values as another document in the fields of a unique index. */
export interface Twins {
  readonly fields: readonly string[]
  readonly count: number
  /** The first `_id`s of these documents, at most five. */
  readonly ids: readonly string[]
  /** Whether there may be more such documents, because the finder reached a memory limit. */
  readonly isLeast: boolean
}

/** Finds documents that violate a unique index, in two passes over all documents in the same order. */
interface TwinFinder {
  /** Called for each document in the first pass. */
  note(document: StoredDocument): void
  /** Whether the first pass found values that may be shared, so that a second pass is necessary. */
  mayHave(): boolean
  /** Called for each document in the second pass. */
  confirm(document: StoredDocument): void
  result(): Twins
}

/** The bits of the Bloom filter of seen values. With ten million values, it has less than 1 % false positives. */
const BITS = 2 ** 27
/** The maximum number of characters, and of values, of suspected duplicates in memory. */
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_VALUES = 100_000

/** Creates the finder for a unique index. Stores a few bits per value, and whole values only if they may be shared. */
function createTwinFinder({ fields }: IndexPlan): TwinFinder {
  const readers = fields.map(compileField)
  const keyOf = (document: StoredDocument): string | undefined => {
    const values = readers.map((read) => read(document))
    return values.includes(undefined) ? undefined : JSON.stringify(values)
  }
  let seen: Uint8Array | undefined
  let characters = 0
  let isLeast = false
  const suspects = new Map<string, { count: number; readonly ids: string[] }>()

  const hold = (key: string): void => {
    if (suspects.has(key)) return
    characters += key.length
    isLeast ||= characters > MAX_CHARACTERS || suspects.size >= MAX_VALUES
    if (!isLeast) suspects.set(key, { count: 0, ids: [] })
  }
  return {
    note(document) {
      const key = keyOf(document)
      if (key === undefined) return
      seen ??= new Uint8Array(BITS / 8)
      if (!mark(seen, key)) hold(key)
    },
    mayHave: () => suspects.size > 0,
    confirm(document) {
      const found = suspects.get(keyOf(document) ?? '')
      if (!found) return
      found.count += 1
      if (found.ids.length < MAX_IDS) found.ids.push(document._id)
    },
    result() {
      const shared = [...suspects.values()].filter(({ count }) => count > 1)
      return {
        fields: fields.map(({ path }) => path),
        count: shared.reduce((sum, { count }) => sum + count, 0),
        ids: firstOf(shared.map(({ ids }) => ids)),
        isLeast,
      }
    },
  }
}

/** Marks a value as seen. Returns true if it was certainly not seen before. */
function mark(seen: Uint8Array, key: string): boolean {
  let isNew = false
  for (const seed of SEEDS) {
    const bit = digest(key, seed) % BITS
    const byte = seen[bit >>> 3] ?? 0
    isNew ||= (byte & (1 << (bit & 7))) === 0
    seen[bit >>> 3] = byte | (1 << (bit & 7))
  }
  return isNew
}

const SEEDS: readonly number[] = [0x811c9dc5, 0x9747b28c, 0x85ebca6b]

/** Returns an FNV-1a hash whose bits are mixed afterwards. */
function digest(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** Returns the first ids of several sorted lists combined. */
function firstOf(lists: readonly (readonly string[])[]): readonly string[] {
  let first: string[] = []
  for (const ids of lists) first = [...first, ...ids].sort().slice(0, MAX_IDS)
  return first
}

/** Compiles the test of whether no rule lets anyone read a document, in a collection that has read rules. */
function compileUnreadable(scope: CheckScope, collection: Collection): (document: StoredDocument) => boolean {
  const readers = scope.rules
    .filter((placed) => placed.collection === collection && placed.operation === 'read')
    .map(compileReader)
  return (document) => readers.length > 0 && !readers.some((mayRead) => mayRead(document))
}

/** Compiles a test of whether a rule lets at least one possible caller read a document. */
function compileReader({ rule, subject, collection }: LocatedRule): Predicate {
  const { where } = rule
  const isMet: Predicate =
    where.kind === 'fixed' ? compileFilter(where.filter) : compileWays(where.ways, collection)
  return subject === OWNER ? (document) => typeof document.createdBy === 'string' && isMet(document) : isMet
}

function compileWays(ways: readonly (readonly Demand[])[], collection: Collection): Predicate {
  const compiled = ways.map((way) => way.map((demand) => compileDemand(demand, collection)))
  return (document) => compiled.some((way) => areAllMet(way, document))
}

const areAllMet = (way: readonly Predicate[], document: Parameters<Predicate>[0]): boolean =>
  way.every((isMet) => isMet(document))

const ANY: Predicate = () => true

function compileDemand(demand: Demand, { paths }: Collection): Predicate {
  const { operator, operand, path } = demand
  const field = paths.get(path)
  if (!field?.ref || !isOperator(operator)) return ANY
  // The flags of a pattern are a separate operator, unknown here. Ignoring letter case avoids false findings.
  if (operator === '$regex')
    return compileFilter(buildCondition(field, operator, operand, { ignoreCase: true }))
  if (variablesIn(demand).length === 0) return compileFilter(buildCondition(field, operator, operand))
  // A field that is compared with a value of the caller must exist.
  return operator === '$ne' || operator === '$nin' || (Array.isArray(operand) && operand.includes(null))
    ? ANY
    : compileFilter({ kind: 'present', field: field.ref })
}

/** A way in which documents do not fit the schema. It contains no values. */
export interface StoredMisfit extends StoredCount {
  /** The dotted path of a declared field, or of a stored name that is not declared; `*` for all further such names. */
  readonly field: string
  /** The code of the validation error, such as `required`; `unknown_property` for a name that is not declared. */
  readonly error: string
  /** The end of a sentence that begins with the field. */
  readonly message: string
  /** For a name that is not declared: the field that no document has and that may be its new name. */
  readonly renamed?: string
}

/** How well a configuration fits the stored documents of a collection. */
export interface StoredReport {
  readonly collection: string
  readonly documents: number
  /** Documents with invalid values, or without required values. */
  readonly invalid: StoredCount
  /** Documents with undeclared properties, which no response shows. */
  readonly cut: StoredCount
  /** What is invalid or cut: one element for each field and error. */
  readonly misfits: readonly StoredMisfit[]
  /** The steps of `migrate` that documents need: fill, then normal form, each by field. */
  readonly steps: readonly PendingStep[]
  /** The misfits that remain after these steps. */
  readonly unfixed: readonly StoredMisfit[]
  /** Documents that no rule lets anyone read, in a collection that has read rules. */
  readonly unreadable: StoredCount
  /** For each unique index with duplicate values: the documents that share these values. */
  readonly notUnique: readonly Twins[]
  /** The fields of each unique index of another configuration that is still in force, and how an operator ends it. */
  readonly leftUnique: readonly Pick<LeftIndex, 'fields' | 'mend'>[]
}

/**
 * Counts the stored documents that are invalid, cut, unreadable or not unique under a configuration, by field and error
 * (CONTRACT.md §8, "Check"). Reads all documents page by page, in bounded memory, and changes nothing. Throws `ConfigError`, and errors
 * of the storage.
 *
 * @param storage an adapter that is already open. This function does not open it, because that would create missing
 * tables.
 *
 * @example
 * ```ts
 * await adapter.open([])
 * const reports = await checkData(config, adapter)
 * reports.filter(({ invalid }) => invalid.count > 0)
 * ```
 */
export async function checkData(
  config: unknown,
  storage: StoredDocuments,
  options: InsightOptions = {},
): Promise<readonly StoredReport[]> {
  const plan = compileForInsight(config, options)
  const scope = createScope(options, plan)
  const collections = [...plan.collections.values()]
  const left = (await storage.leftUnique?.(collections.map(storedPlan))) ?? []
  const reports: StoredReport[] = []
  for (const collection of collections) {
    const leftUnique = leftOf(collection, left).map(({ fields, mend }) => ({ fields, mend }))
    reports.push({ ...(await checkCollection(scope, collection, storage)), leftUnique })
  }
  return reports
}

async function checkCollection(
  scope: CheckScope,
  collection: Collection,
  storage: StoredDocuments,
): Promise<Omit<StoredReport, 'leftUnique'>> {
  const isUnreadable = compileUnreadable(scope, collection)
  const finders = collection.storage.indexes.filter(({ unique }) => unique).map(createTwinFinder)
  const counter = createMisfitCounter(collection)
  const unfixed = createMisfitCounter(collection)
  const steps = createStepCounter(collection)
  const [invalid, cut, unreadable] = [createCounter(), createCounter(), createCounter()]
  let documents = 0
  for await (const page of readPages(storage, collection)) {
    documents += page.length
    for (const document of page) {
      const errors = await counter.note(document)
      if ([...errors].some((error) => error !== UNDECLARED)) invalid.add(document)
      if (errors.has(UNDECLARED)) cut.add(document)
      const fixed = steps.apply(document)
      if (errors.size > 0 || fixed !== document) await unfixed.note(fixed)
      if (isUnreadable(document)) unreadable.add(document)
      for (const { note } of finders) note(document)
    }
  }
  const suspicious = finders.filter(({ mayHave }) => mayHave())
  if (suspicious.length > 0) {
    for await (const page of readPages(storage, collection))
      for (const document of page) for (const { confirm } of suspicious) confirm(document)
  }
  const misfits = counter.result()
  const isRenamed = ({ field, error }: CountedMisfit): boolean =>
    misfits.some((one) => one.field === field && one.error === error && one.renamed !== undefined)
  const notUnique = suspicious
    .map(({ result }) => result())
    .filter(({ count, isLeast }) => count > 0 || isLeast)
  return {
    collection: collection.name,
    documents,
    notUnique,
    invalid: invalid.result(),
    cut: cut.result(),
    misfits: misfits.map(withoutPointer),
    steps: steps.result(),
    unfixed: unfixed.result().map((one) => withoutPointer(isRenamed(one) ? one : withoutRenamed(one))),
    unreadable: unreadable.result(),
  }
}

const withoutPointer = ({ pointer, ...misfit }: CountedMisfit): StoredMisfit => misfit

/** A counter of some documents does not know whether others have the field that may be the new name. */
const withoutRenamed = ({ renamed, ...misfit }: CountedMisfit): CountedMisfit => misfit

/** Yields all documents of a collection in pages, in the order of `_id`. */
async function* readPages(
  storage: StoredDocuments,
  collection: Collection,
): AsyncGenerator<readonly StoredDocument[]> {
  const { storedName } = collection
  const read = storedReader(collection)
  for (let after = ''; ; ) {
    const page = await storage.list(storedName, afterId(after))
    const last = page.at(-1)
    if (!last) return
    yield page.map(read)
    after = last._id
  }
}

function createCounter(): { add(document: StoredDocument): void; result(): StoredCount } {
  const ids: string[] = []
  let count = 0
  return {
    add({ _id }) {
      count += 1
      if (ids.length < MAX_IDS) ids.push(_id)
    },
    result: () => ({ count, ids }),
  }
}
