import { SESSIONS, SESSIONS_PLAN } from '../../core/accounts/auth/sessions.js'
import type { ServicePlan } from '../../core/config/plan.js'
import { suggest } from '../../core/fields/schema/names.js'
import { afterId } from '../../core/filter/after-id.js'
import { compileField } from '../../core/filter/compare.js'
import { and, everything, isId, or } from '../../core/filter/filter.js'
import { compileFilter } from '../../core/filter/matches.js'
import { compareText } from '../../core/json/compare-text.js'
import type { CollectionPlan, StorageAdapter, StoredDocument, WriteResult } from '../../core/storage.js'
import { storedPlan } from '../../core/stored/names/renamed-storage.js'
import { compileForTransfer, requireAccounts } from './dump.js'
import { type CollectionTally, createTally, printSorted, type Tallies, type Tally } from './dump-format.js'
import { parseDocument, parseEnd, parseHead, parseObject } from './parse-line.js'
import { type DumpSource, type Line, readLines } from './read-lines.js'
import { TransferError } from './transfer-error.js'

/** The options of `load`. */
export interface LoadOptions {
  /**
   * Whether the storage may already contain documents of the dump, because a former load was interrupted. They must be
   * equal to those of the dump, and are not written again. Default: false, the storage must be empty.
   */
  readonly resume?: boolean
  /** Ends the load after the current write. It then rejects with `interrupted`, and can be resumed. */
  readonly signal?: AbortSignal
}

/** The result of `load`. */
export interface Loaded {
  /** The collections of the dump, as they are stored now. */
  readonly collections: Tallies
  /** The number of documents that this load has written. */
  readonly written: number
  /** The number of documents that the storage already contained. */
  readonly present: number
}

/** The maximum number of documents, and of characters, of one write. */
const MOST_DOCUMENTS = 500
const MOST_CHARACTERS = 4 * 1024 * 1024

/**
 * Stores the documents of a dump (CONTRACT.md §7, "Dumps"), in writes of some hundred documents. It calls `open` of the
 * adapter, and does not close it. Documents are stored as they are, without rules, validation, hooks and entries in the
 * log; unique fields stay unique. At the end it reads all documents of these collections again, and compares counts and
 * digests with the dump. Rejects with `TransferError`, `ConfigError` and errors of the storage; documents that are
 * already written remain.
 *
 * @param storage an adapter that no service has opened
 * @param source the dump, in pieces of any size
 *
 * @example
 * ```ts
 * const { collections } = await load(config, createSqliteAdapter({ file: 'app.db' }), createReadStream('app.ndjson'))
 * ```
 */
export async function load(
  config: unknown,
  storage: StorageAdapter,
  source: DumpSource,
  options: LoadOptions = {},
): Promise<Loaded> {
  const loading = new Loading(compileForTransfer(config), storage, options)
  try {
    await readLines(source, (line) => loading.take(line))
  } catch (thrown) {
    // An interrupted input fails too.
    loading.throwIfInterrupted()
    throw thrown
  }
  return loading.finish()
}

/** A document of the dump, with the number of its line. */
interface LoadedDocument {
  readonly document: StoredDocument
  readonly line: number
}

/** A collection of the dump. */
interface LoadedCollection {
  readonly plan: CollectionPlan
  /** Its index in the first line. */
  readonly place: number
  readonly tally: Tally
  /** The `_id` of the last document. */
  last: string
}

class Loading {
  readonly #plan: ServicePlan
  readonly #storage: StorageAdapter
  readonly #options: LoadOptions
  /** The collections of the first line, in its order; `undefined` before it. */
  #collections: ReadonlyMap<string, LoadedCollection> | undefined
  /** The collection of the last document. */
  #current: LoadedCollection | undefined
  #batch: LoadedDocument[] = []
  #characters = 0
  #end: Tallies | undefined
  #written = 0
  #present = 0

  constructor(plan: ServicePlan, storage: StorageAdapter, options: LoadOptions) {
    this.#plan = plan
    this.#storage = storage
    this.#options = options
  }

  /** Takes the next line of the dump. */
  take(line: Line): Promise<void> | undefined {
    const { number } = line
    if (this.#end)
      throw new TransferError('invalid_line', 'nothing may follow the last line', { line: number })
    const value = parseObject(line, () => this.#incomplete())
    if (!this.#collections) return this.#begin(parseHead(value, number))
    if (Object.hasOwn(value, 'end')) {
      this.#end = parseEnd(value, number, [...this.#collections.keys()])
      return this.#flush()
    }
    const { in: name, document } = parseDocument(value, number)
    const collection = this.#collections.get(name)
    if (!collection)
      throw new TransferError(
        'invalid_line',
        `has a document of ${JSON.stringify(name)}, which the first line does not name`,
        { line: number },
      )
    const add = (): Promise<void> | undefined =>
      this.#add(collection, { document, line: number }, line.text.length)
    return this.#current === collection ? add() : this.#flush().then(add)
  }

  /** Compares the storage with the last line. */
  async finish(): Promise<Loaded> {
    this.throwIfInterrupted()
    const end = this.#end
    if (!this.#collections || !end) throw this.#incomplete()
    for (const [name, { tally }] of this.#collections)
      requireSame(
        tally.result(),
        end[name],
        (found, said) =>
          new TransferError(
            'wrong_digest',
            `the dump was changed: it has ${found} of ${name}, but its last line says ${said}. Its documents are already stored; empty the storage`,
          ),
      )
    for (const [name] of this.#collections)
      requireSame(
        await this.#tallyStored(name),
        end[name],
        (found, said) =>
          new TransferError(
            'different_document',
            `the storage has ${found} of ${name}, but the dump has ${said}: another program wrote to it, or it had documents that the dump lacks`,
          ),
      )
    return { collections: end, written: this.#written, present: this.#present }
  }

  throwIfInterrupted(): void {
    const { signal } = this.#options
    if (signal?.aborted)
      throw new TransferError('interrupted', `the load was interrupted; ${this.#howFar()}`, {
        cause: signal.reason,
      })
  }

  #incomplete(): TransferError {
    return this.#collections
      ? new TransferError(
          'incomplete',
          `the dump was cut off: its last line, which has counts and digests, is missing; ${this.#howFar()}`,
        )
      : new TransferError('incomplete', 'the input is empty, and no dump')
  }

  #howFar(): string {
    return `${this.#written + this.#present} documents are stored. Load the whole dump with --resume (resume: true) to continue`
  }

  /** Opens the storage, which must be empty. Before that, checks all names, so that nothing is written for a wrong one. */
  async #begin(names: readonly string[]): Promise<void> {
    const { collections } = this.#plan
    const plans = Array.from(collections.values(), storedPlan)
    if (names.includes(SESSIONS)) {
      requireAccounts(this.#plan)
      plans.push(SESSIONS_PLAN)
    }
    const known = new Map(plans.map((plan) => [plan.name, plan]))
    this.#collections = new Map(
      names.map((name, place) => {
        const plan = known.get(name)
        if (plan) return [name, { plan, place, tally: createTally(), last: '' }]
        const near = suggest(
          name,
          Array.from(collections.values(), ({ storedName }) => storedName),
        )
        throw new TransferError(
          'unknown_collection',
          `the dump has the collection ${JSON.stringify(name)}, which the configuration does not declare${near}`,
          { line: 1 },
        )
      }),
    )
    // Without `log` in the plans, nothing is recorded, and positions in a former log report a gap (CONTRACT.md §7).
    await this.#storage.open(plans)
    const inDump = new Set(this.#options.resume ? names : [])
    await this.#requireEmpty(plans.filter(({ name }) => !inDump.has(name)))
  }

  /** Throws if there are documents of these collections. With `resume`, they are the collections that the dump lacks. */
  async #requireEmpty(plans: readonly CollectionPlan[]): Promise<void> {
    const found: string[] = []
    for (const { name } of plans) {
      const count = await this.#storage.count(name, everything, {})
      if (count > 0) found.push(`${name} ${count}`)
    }
    if (found.length === 0) return
    const contained = `the storage already contains documents (${found.join(', ')})`
    if (this.#options.resume)
      throw new TransferError(
        'different_document',
        `${contained} of collections that the dump lacks: it is not the dump of the interrupted load`,
      )
    throw new TransferError(
      'not_empty',
      `${contained}, and must be empty; to continue an interrupted load of the same dump, use --resume (resume: true)`,
    )
  }

  #add(collection: LoadedCollection, added: LoadedDocument, characters: number): Promise<void> | undefined {
    const { document, line } = added
    const isBefore = collection.place < (this.#current?.place ?? 0)
    if (isBefore || compareText(document._id, collection.last) <= 0)
      throw new TransferError(
        'invalid_line',
        `${collection.plan.name} ${document._id} is out of order: the collections must be in the order of the first line, and their documents in the order of _id`,
        { line },
      )
    this.#current = collection
    collection.last = document._id
    collection.tally.add(document)
    this.#batch.push(added)
    this.#characters += characters
    const isFull = this.#batch.length >= MOST_DOCUMENTS || this.#characters >= MOST_CHARACTERS
    return isFull ? this.#flush() : undefined
  }

  /** Writes the documents that are held. */
  async #flush(): Promise<void> {
    const batch = this.#batch
    const plan = this.#current?.plan
    this.#batch = []
    this.#characters = 0
    this.throwIfInterrupted()
    if (!plan || batch.length === 0) return
    const missing = this.#options.resume ? await this.#findMissing(plan.name, batch) : batch
    const steps = missing.map(({ document }) => ({ in: plan.name, insert: document }))
    const result: WriteResult =
      steps.length > 0 ? await this.#storage.write(steps, {}) : { ok: true, removed: 0 }
    if (!result.ok) throw await this.#explain(result, plan, missing)
    this.#written += missing.length
    this.#present += batch.length - missing.length
  }

  /** Returns the documents that are not stored yet. Throws if another document with the same `_id` is stored. */
  async #findMissing(name: string, batch: readonly LoadedDocument[]): Promise<readonly LoadedDocument[]> {
    const filter = or(batch.map(({ document }) => isId(document._id)))
    const stored = await this.#storage.list(name, { filter, sort: [], skip: 0, limit: null })
    const texts = new Map(stored.map((document) => [document._id, printSorted(document)]))
    return batch.filter(({ document, line }) => {
      const text = texts.get(document._id)
      if (text !== undefined && text !== printSorted(document))
        throw new TransferError(
          'different_document',
          `${name} ${document._id} is already stored, and differs from the dump`,
          { line },
        )
      return text === undefined
    })
  }

  /** Returns the error for a rejected write. */
  async #explain(
    { step, fields = [] }: Extract<WriteResult, { readonly ok: false }>,
    { name, indexes }: CollectionPlan,
    batch: readonly LoadedDocument[],
  ): Promise<TransferError> {
    const { document, line } = batch[step] ?? { document: { _id: '', _version: 0 }, line: undefined }
    const paths = fields.join(' and ')
    const index = indexes.find(
      (one) => one.unique && one.fields.map(({ path }) => path).join() === fields.join(),
    )
    if (!index)
      return new TransferError(
        'different_document',
        `${name} ${document._id} was stored by another program during the load`,
        { line },
      )
    const filter = and(
      index.fields.map((field) => ({ kind: 'eq', field, value: compileField(field)(document) ?? '' })),
    )
    const matches = compileFilter(filter)
    const [other] = [
      ...batch.slice(0, step).flatMap((one) => (matches(one.document) ? [one.document] : [])),
      ...(await this.#storage.list(name, { filter, sort: [], skip: 0, limit: 1 })),
    ]
    return new TransferError(
      'unique_violation',
      `${name} ${document._id} has the same ${paths} as ${other?._id ?? 'another document'}, but ${paths} must be unique`,
      { line },
    )
  }

  async #tallyStored(name: string): Promise<CollectionTally> {
    const tally = createTally()
    for (let after = ''; ; ) {
      this.throwIfInterrupted()
      const page = await this.#storage.list(name, afterId(after))
      const last = page.at(-1)
      if (!last) return tally.result()
      for (const document of page) tally.add(document)
      after = last._id
    }
  }
}

/** Throws the error that `explain` returns if two tallies differ. */
function requireSame(
  found: CollectionTally,
  said: CollectionTally | undefined,
  explain: (found: string, said: string) => TransferError,
): void {
  if (found.documents === said?.documents && found.sha256 === said.sha256) return
  const print = (tally?: CollectionTally): string =>
    `${tally?.documents ?? 0} documents with the digest ${tally?.sha256.slice(0, 12) ?? 'none'}…`
  throw explain(print(found), print(said))
}
