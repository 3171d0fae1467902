import type { Collection } from '../../../../core/config/plan.js'
import { everything, isId } from '../../../../core/filter/filter.js'
import { fillDocument } from '../../../../core/migrate/fill.js'
import type { FixedDocument } from '../../../../core/migrate/fix.js'
import { formDocument, listForms } from '../../../../core/migrate/normal-form.js'
import type { Snapshot, StoredDocument } from '../../../../core/storage.js'
import { MAX_IDS } from '../../../../core/stored/misfits.js'
import { listFills } from '../../../../core/stored/record/describe-names.js'
import { Progress } from '../../../../core/stored/record/progress.js'
import { parseRecord, SCHEMA } from '../../../../core/stored/record/schema-record.js'
import { compileAmong } from '../../compile.js'
import type { InsightOptions } from '../../options.js'
import type { StoredCount, StoredDocuments } from './stored-documents.js'

/** A step of `migrate` that stored documents of a collection need (CONTRACT.md §7, "Migrating"). */
export interface PendingStep extends StoredCount {
  /** `<collection>.<field>`. */
  readonly name: string
  /** The dotted path of the field. */
  readonly field: string
  readonly kind: 'fill' | 'form'
}

/** A migration that is not finished. */
export interface PendingMigration {
  readonly name: string
  /** The number of documents that it could not change so far, and the first five `_id`s. */
  readonly failed: StoredCount
}

/** Applies fill and normal form to documents in memory, and counts those that change. */
export interface StepCounter {
  /** Returns the document as the steps would leave it: the same object if it needs none. */
  apply(document: StoredDocument): StoredDocument
  result(): readonly PendingStep[]
}

/** Creates the counter of a collection. */
export function createStepCounter(collection: Collection): StepCounter {
  const fills = listFills(collection).length > 0
  const forms = listForms(collection).length > 0
  const steps = new Map<string, PendingStep & { count: number; readonly ids: string[] }>()
  const note = (kind: PendingStep['kind'], { fields, document }: FixedDocument): StoredDocument => {
    for (const field of fields) {
      const key = `${kind} ${field}`
      const step = steps.get(key) ?? { name: `${collection.name}.${field}`, field, kind, count: 0, ids: [] }
      steps.set(key, step)
      step.count += 1
      if (step.ids.length < MAX_IDS) step.ids.push(document._id)
    }
    return document
  }
  return {
    apply(document) {
      const filled = fills ? note('fill', fillDocument(collection, document)) : document
      if (!forms) return filled
      const { wrong, ...formed } = formDocument(collection, filled)
      return wrong ? filled : note('form', formed)
    },
    result: () => [...steps.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)),
  }
}

const ORDER: readonly PendingStep['kind'][] = ['fill', 'form']

/** A source of stored documents, of which a snapshot tells which collections exist. */
interface ExistingCollections extends Pick<StoredDocuments, 'list'> {
  snapshot?(): Promise<Snapshot>
}

/**
 * Returns the migrations of a configuration that are not finished in a storage (CONTRACT.md §8, "Check"), in their order.
 * Needs no code of migrations, and changes nothing. Throws `ConfigError`, and errors of the storage.
 *
 * @param storage an adapter that is already open
 *
 * @example
 * ```ts
 * await adapter.open([])
 * const names = (await checkMigrations(config, adapter)).map(({ name }) => name)
 * ```
 */
export async function checkMigrations(
  config: unknown,
  storage: ExistingCollections,
  options: InsightOptions = {},
): Promise<readonly PendingMigration[]> {
  const { collections, migrations } = compileAmong(config, options)
  if (migrations.length === 0) return []
  const existing = await listCollections(storage)
  const read = async (id: string): Promise<StoredDocument | undefined> => {
    if (existing?.has(SCHEMA) === false) return undefined
    const [found] = await storage.list(SCHEMA, { filter: isId(id), sort: [], skip: 0, limit: 1 })
    return found
  }
  const record = parseRecord(await read(SCHEMA))
  // A start takes the configuration as it is.
  if (!record && !(await hasDocuments(storage, collections.values(), existing))) return []
  const pending: PendingMigration[] = []
  for (const name of migrations) {
    if (record?.finished.includes(name)) continue
    const { failed } = await Progress.read(name, read)
    pending.push({ name, failed: { count: failed.length, ids: failed.slice(0, MAX_IDS) } })
  }
  return pending
}

/** Returns the stored names of the collections that exist; `undefined` if the storage does not tell. */
async function listCollections({ snapshot }: ExistingCollections): Promise<ReadonlySet<string> | undefined> {
  const taken = await snapshot?.()
  if (!taken) return undefined
  try {
    return new Set(await taken.collections())
  } finally {
    await taken.close()
  }
}

async function hasDocuments(
  storage: ExistingCollections,
  collections: Iterable<Collection>,
  existing: ReadonlySet<string> | undefined,
): Promise<boolean> {
  for (const { storedName } of collections) {
    if (existing?.has(storedName) === false) continue
    const found = await storage.list(storedName, { filter: everything, sort: [], skip: 0, limit: 1 })
    if (found.length > 0) return true
  }
  return false
}
