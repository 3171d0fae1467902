import { bounds } from '../../../core/bounds.js'
import { and, type Filter, isId, or } from '../../../core/filter/filter.js'
import { whenReady } from '../../../core/promises.js'
import type {
  CollectionPlan,
  Listed,
  ListQuery,
  MaybePromise,
  StorageAdapter,
  StoredDocument,
  WriteOptions,
  WriteResult,
  WriteStep,
} from '../../../core/storage.js'
import { LogPlans } from '../../log/log-plans.js'
import { compileWrite, type UniqueIndexes, type WriteStatement } from './compile-write.js'
import { toError, unavailable } from './faults.js'
import type { ProgramDriver, ProgramOutcome, ProgramResult } from './program-driver.js'
import { toProgramStatement } from './program-engine.js'
import { ProgramLog, type ProgramRecording } from './program-log.js'
import { aggregate, count, list, listTogether } from './program-reads.js'
import { createMissing, dropUnique, readLeft, readUnique } from './program-structures.js'
import { surveySteps } from './survey.js'

/** The maximum number of documents in a batch of a stream. */
const BATCH = 500

/** Creates an adapter that stores documents in the SQLite database of a driver. */
export function createProgramAdapter(driver: ProgramDriver): StorageAdapter {
  const plans = new LogPlans()
  const log = new ProgramLog(driver, plans)
  const states = new States()
  const writer = new Writer(driver, log, states)
  const adapter: StorageAdapter = {
    system: 'sqlite',
    maxDocumentBytes: driver.limits.documentBytes,
    async open(wanted: readonly CollectionPlan[]) {
      await createMissing(driver, plans.joined(wanted))
      plans.add(wanted)
    },
    list: (collection, query) => list(driver, collection, query),
    stream: (collection, query) => stream(driver, collection, query),
    count: (collection, filter, options) => count(driver, collection, filter, options),
    aggregate: (collection, query) => aggregate(driver, collection, query),
    write: (steps, options) => writer.write(steps, options),
    changes: (after, query) => log.changes(after, query),
    leftUnique: (wanted) => readLeft(driver, wanted),
    dropUnique: (collection, fields) => dropUnique(driver, collection, fields),
    async close() {},
  }
  return driver.isShared
    ? { ...adapter, listTogether: (lists, options) => listTogether(driver, lists, options) }
    : { ...adapter, state: (collections) => states.find(collections) }
}

/** See `StorageAdapter.stream`. The first batch names all further documents, which are read by their ids. */
async function* stream(
  driver: ProgramDriver,
  collection: string,
  query: ListQuery,
): AsyncIterable<readonly StoredDocument[]> {
  const first = await list(driver, collection, { ...query, bytes: bounds.batchBytes })
  for (let i = 0; i < first.length; i += BATCH) {
    query.signal?.throwIfAborted()
    yield first.slice(i, i + BATCH)
  }
  let ids = first.rest ?? []
  let size = BATCH
  while (ids.length > 0) {
    query.signal?.throwIfAborted()
    const some = ids.slice(0, size)
    const found = await listNamed(driver, collection, query.filter, some)
    if (found.rest) {
      size = Math.ceil(size / 2)
      continue
    }
    ids = ids.slice(size)
    // Doubled, because a few large documents may precede many small ones.
    size = Math.min(BATCH, 2 * size)
    const byId = new Map(found.map((document) => [document._id, document]))
    const documents = some.flatMap((id) => byId.get(id) ?? [])
    if (documents.length > 0) yield documents
  }
}

/** Lists those of the named documents that match, in any order. */
const listNamed = (
  driver: ProgramDriver,
  collection: string,
  filter: Filter,
  ids: readonly string[],
): MaybePromise<Listed> => {
  const named = and([or(ids.map(isId)), filter])
  return list(driver, collection, {
    filter: named,
    sort: [],
    skip: 0,
    limit: null,
    bytes: bounds.batchBytes,
  })
}

/** Creates strings that identify the content of collections to which only this adapter writes. */
class States {
  readonly #written = new Map<string, number>()

  find(collections: readonly string[]): string {
    return collections.map((one) => this.#written.get(one) ?? 0).join(' ')
  }

  /** Called when a write may have taken effect, before any read can see it. */
  tookEffect(steps: readonly WriteStep[]): void {
    for (const { in: name } of steps) this.#written.set(name, (this.#written.get(name) ?? 0) + 1)
  }
}

/** The maximum number of programs for one write, if documents change while it is prepared. */
const MAX_ATTEMPTS = 10

/** A write, and what its programs found out. */
interface Attempt {
  readonly statements: readonly WriteStatement[]
  readonly recording: ProgramRecording | undefined
}

/** Writes documents. */
class Writer {
  readonly #driver: ProgramDriver
  readonly #log: ProgramLog
  readonly #states: States

  constructor(driver: ProgramDriver, log: ProgramLog, states: States) {
    this.#driver = driver
    this.#log = log
    this.#states = states
  }

  async write(steps: readonly WriteStep[], options: WriteOptions): Promise<WriteResult> {
    let unique: UniqueIndexes | undefined
    let cause: unknown = new Error('other processes kept changing the documents')
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { signal } = options
      const surveyed = await surveySteps(this.#driver, steps)
      if (signal?.aborted) throw unavailable(signal.reason)
      const recording = this.#log.record(steps, options)
      const statements = compileWrite(steps, { surveyed, recording, unique })
      const outcome = await this.#run(steps, statements)
      if (outcome.ok) return this.#finish(steps, { statements, recording }, outcome.results)
      if (outcome.reason === 'expected') {
        const refusal = statements[outcome.statement]?.refusal ?? 'overtaken'
        if (refusal !== 'overtaken') return refusal
      } else if (outcome.reason === 'taken') {
        // The program is repeated with reads, which find the first index that rejects a document.
        unique = await readUnique(this.#driver)
        cause = outcome.cause
      } else throw toError(outcome.reason, outcome.cause)
    }
    throw unavailable(cause)
  }

  #run(steps: readonly WriteStep[], statements: readonly WriteStatement[]): MaybePromise<ProgramOutcome> {
    const program = statements.map(({ statement, expect }) =>
      toProgramStatement(statement, this.#driver.limits, expect),
    )
    return whenReady(this.#driver.write(program), (outcome) => {
      if (outcome.ok || outcome.reason === 'unknown') this.#states.tookEffect(steps)
      return outcome
    })
  }

  async #finish(
    steps: readonly WriteStep[],
    { statements, recording }: Attempt,
    results: readonly ProgramResult[],
  ): Promise<WriteResult> {
    const removed = statements.reduce(
      (sum, { isRemoval }, i) => sum + (isRemoval ? (results[i]?.changes ?? 0) : 0),
      0,
    )
    if (recording) await this.#log.tookEffect(steps, results.at(-1)?.rows[0])
    return { ok: true, removed }
  }
}
