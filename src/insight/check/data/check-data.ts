import type { Collection } from '../../../config/plan.js'
import { ID } from '../../../filter/filter.js'
import type { Listed, ListQuery, MaybePromise, StoredDocument } from '../../../storage.js'
import { compileForInsight } from '../../compile.js'
import type { InsightOptions } from '../../options.js'
import { type CheckScope, createScope } from '../scope.js'
import { createJudge } from './judge-document.js'
import { createTwinFinder, MAX_IDS, type Twins } from './twins.js'

/** A source of stored documents: an open adapter, or anything else with this method. */
export interface StoredDocuments {
  list(collection: string, query: ListQuery): MaybePromise<Listed>
}

/** Some documents of a collection. */
export interface StoredCount {
  readonly count: number
  /** Their first `_id`s, at most five. */
  readonly ids: readonly string[]
}

/** How a configuration fits the stored documents of a collection. */
export interface StoredReport {
  readonly collection: string
  readonly documents: number
  /** With invalid values, or without required ones. */
  readonly invalid: StoredCount
  /** With undeclared properties, which no answer shows. */
  readonly cut: StoredCount
  /** Readable by no rule, in a collection that has read rules. */
  readonly unreadable: StoredCount
  /** For each unique index with duplicate values: the documents that share them. */
  readonly notUnique: readonly Twins[]
}

/**
 * Counts the stored documents that a configuration would find invalid, cut, unreadable to all or not unique
 * (CONTRACT.md §8, "Check"). Reads all documents, page by page, in bounded memory, and changes nothing. Throws
 * `ConfigError`, and errors of the storage.
 *
 * @param storage an adapter that is already open: opening one creates missing tables, so this function opens none
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
  const scope = createScope(config, plan, options.authenticate ?? false)
  const reports: StoredReport[] = []
  for (const collection of plan.collections.values())
    reports.push(await checkCollection(scope, collection, storage))
  return reports
}

async function checkCollection(
  scope: CheckScope,
  collection: Collection,
  storage: StoredDocuments,
): Promise<StoredReport> {
  const { isInvalid, isCut, isUnreadable } = createJudge(scope, collection)
  const finders = collection.storage.indexes.filter(({ unique }) => unique).map(createTwinFinder)
  const [invalid, cut, unreadable] = [createCounter(), createCounter(), createCounter()]
  let documents = 0
  for await (const page of readPages(storage, collection.name)) {
    documents += page.length
    for (const document of page) {
      if (isInvalid(document)) invalid.add(document)
      if (isCut(document)) cut.add(document)
      if (isUnreadable(document)) unreadable.add(document)
      for (const { note } of finders) note(document)
    }
  }
  const suspicious = finders.filter(({ mayHave }) => mayHave())
  if (suspicious.length > 0) {
    for await (const page of readPages(storage, collection.name))
      for (const document of page) for (const { confirm } of suspicious) confirm(document)
  }
  const notUnique = suspicious
    .map(({ result }) => result())
    .filter(({ count, isLeast }) => count > 0 || isLeast)
  return {
    collection: collection.name,
    documents,
    notUnique,
    invalid: invalid.result(),
    cut: cut.result(),
    unreadable: unreadable.result(),
  }
}

/** The documents, and their bytes, that are in memory at a time. */
const PAGE = 500
const BYTES = 4 * 1024 * 1024

/** All documents of a collection, in the order of `_id`. */
async function* readPages(
  storage: StoredDocuments,
  collection: string,
): AsyncGenerator<readonly StoredDocument[]> {
  const sort = [{ field: ID, descending: false }]
  for (let after = ''; ; ) {
    const page = await storage.list(collection, {
      filter: { kind: 'gt', field: ID, value: after },
      sort,
      skip: 0,
      limit: PAGE,
      bytes: BYTES,
    })
    const last = page.at(-1)
    if (!last) return
    yield page
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
