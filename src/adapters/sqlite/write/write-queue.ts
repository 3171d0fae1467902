import { bounds } from '../../../core/bounds.js'
import { ServiceError } from '../../../core/errors.js'
import type { Filter } from '../../../core/filter/filter.js'
import { whenFailed, whenReady } from '../../../core/promises.js'
import { mapSliced, nextTurn, Slices } from '../../../core/slices.js'
import type { ListQuery, MaybePromise, WriteOptions, WriteResult, WriteStep } from '../../../core/storage.js'
import { type Waiter, WaitingLine } from '../../../core/waiting-line.js'
import { applySteps, type Suspects } from '../../sql/apply-steps.js'
import type { SqlEngine } from '../../sql/engine.js'
import { findTaken } from '../../sql/find-taken.js'
import { askOn } from '../connection/ask-on.js'
import { type Connection, readDataVersion } from '../connection/connection.js'
import type { OpenFiles } from '../connection/open-files.js'
import { displaced, explain, isBeforeCommit, isBusy, unavailable } from '../faults.js'
import type { LogWriter } from '../log/sqlite-log.js'
import type { KeptDocuments } from '../read/kept-documents.js'
import type { States } from './states.js'

/**
 * Records which documents this process writes from a certain moment on. Also detects that other processes have written,
 * but not which documents.
 */
class Watch {
  readonly #connection: Connection
  readonly #version: unknown
  readonly #ids = new Map<string, Set<string>>()

  constructor(connection: Connection) {
    this.#connection = connection
    this.#version = readDataVersion(connection)
  }

  /** Records the documents of a write, before its first step is applied. */
  note(steps: readonly WriteStep[]): void {
    for (const step of steps) {
      const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      if (!document) continue
      const known = this.#ids.get(step.in) ?? new Set()
      this.#ids.set(step.in, known.add(document._id))
    }
  }

  /** Returns the ids of the documents that were written to a collection, or may have been. */
  written(collection: string): Iterable<string> {
    return this.#ids.get(collection) ?? []
  }

  /** Whether no other process has written since the watch began. Called inside a transaction. */
  holds(): boolean {
    return readDataVersion(this.#connection) === this.#version
  }
}

interface QueuedWrite {
  readonly steps: readonly WriteStep[]
  readonly signal: AbortSignal | undefined
  readonly by: string | null
  readonly isMigration: boolean
  /** The caller, used as the key for fairness in queues. */
  readonly caller: string | undefined
  readonly suspects: Suspects
  /** Called inside the transaction. Throws if data on which the write depends has changed. */
  readonly verify: () => void
}

/** A write in the queue, until its result is known. */
interface OpenWrite extends QueuedWrite {
  readonly since: number
  state: 'waiting' | 'begun' | 'left'
  leave?: () => void
}

type WaitingWrite = Waiter<OpenWrite, WriteResult>

/** The maximum number of writes in one transaction, and of their steps. A single write may have more steps. */
const MAX_SHARED = 200
const MAX_STEPS = 1000

/** The maximum number of milliseconds for which a write waits for other processes. */
const MAX_WAIT = 5000

/** The longest pause between two attempts, in milliseconds. */
const PAUSE = 15

type WriteOutcome = readonly [write: WaitingWrite, result: WriteResult | { readonly thrown: unknown }]

/** The connection of a write queue, and the objects that its writes use. */
interface WriterResources {
  readonly connection: Connection
  readonly engine: SqlEngine
  readonly files: OpenFiles
  readonly log: LogWriter
  readonly kept: KeptDocuments
  readonly states: States
}

/**
 * The slices of an open transaction: one in each turn of the event loop, beside other work, because no other
 * connection can write before the transaction ends.
 */
class TransactionSlices extends Slices {
  readonly #onPause: () => void

  constructor(onPause: () => void) {
    super(bounds.slice)
    this.#onPause = onPause
  }

  override async next(): Promise<void> {
    this.#onPause()
    await nextTurn()
    this.left = bounds.slice
  }
}

/**
 * A queue of writes. Writes that arrive together share a transaction, and so wait for the disk only once, but each can
 * fail without the others. If more writes wait than fit into one transaction, callers are served in turn. A transaction
 * may pause so that the event loop can run. During the pause no other connection can write.
 */
export class WriteQueue {
  readonly #target: WriterResources
  /** Has no limit of its own: a write leaves the queue when its signal aborts, or after `MAX_WAIT`. */
  readonly #waiting = new WaitingLine<OpenWrite, WriteResult>(Number.POSITIVE_INFINITY, unavailable)
  readonly #watches = new Set<Watch>()
  #running: readonly WaitingWrite[] = []
  #isScheduled = false
  #onDrained: (() => void)[] = []

  constructor(target: WriterResources) {
    this.#target = target
  }

  write(write: QueuedWrite): Promise<WriteResult> {
    this.#schedule()
    // The signal is heard only once the write has to wait for long.
    const { caller } = write
    return this.#waiting.wait({ ...write, since: performance.now(), state: 'waiting' }, { caller })
  }

  /** Begins to record which documents are written. Those of the open transaction count as written too. */
  watch(): Watch {
    const watch = new Watch(this.#target.connection)
    for (const { about } of this.#running) watch.note(about.steps)
    this.#watches.add(watch)
    return watch
  }

  unwatch(watch: Watch): void {
    this.#watches.delete(watch)
  }

  /** Resolves as soon as no write is waiting or running. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained.push(resolve)
      this.#schedule()
    })
  }

  #schedule(milliseconds?: number): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const run = (): void => {
      this.#isScheduled = false
      this.#flush()
    }
    if (milliseconds === undefined) setImmediate(run)
    else setTimeout(run, milliseconds)
  }

  #flush(): void {
    if (this.#running.length > 0) {
      for (const write of this.#waiting) hear(write)
      return
    }
    this.#dropHopeless()
    if (this.#waiting.length > 0) {
      const pause = this.#tryTransaction()
      if (this.#waiting.length > 0) this.#schedule(pause)
    }
    if (this.#waiting.length + this.#running.length > 0) return
    const onDrained = this.#onDrained
    this.#onDrained = []
    for (const resolve of onDrained) resolve()
  }

  /**
   * Tries to begin a transaction. Returns the milliseconds until waiting writes are retried, or `undefined` if they
   * need no pause.
   */
  #tryTransaction(): number | undefined {
    const { connection, files } = this.#target
    const waiting = this.#waiting
    tryRollback(connection)
    try {
      requireInPlace(files)
      connection.execute('BEGIN IMMEDIATE')
    } catch (thrown) {
      if (isBusy(thrown)) {
        for (const write of waiting) hear(write)
        return 1 + Math.random() * PAUSE
      }
      for (const write of waiting) {
        waiting.delete(write)
        begin(write)
        write.refuse(explain(thrown))
      }
      return undefined
    }
    const running = takeShared(waiting)
    this.#running = running
    for (const { about } of running) for (const watch of this.#watches) watch.note(about.steps)
    const slices = new TransactionSlices(() => {
      for (const write of running) hear(write)
    })
    whenReady(this.#commitShared(running, slices), () => {
      this.#running = []
      this.#schedule()
    })
    return undefined
  }

  #dropHopeless(): void {
    const now = performance.now()
    for (const write of this.#waiting) {
      const { signal, since, state } = write.about
      if (state !== 'left' && !signal?.aborted && now - since <= MAX_WAIT) continue
      this.#waiting.delete(write)
      write.refuse(
        unavailable(
          new Error(
            'the write could not begin, because other processes kept writing or the caller aborted the request',
          ),
        ),
      )
    }
  }

  /** Runs writes in the open transaction and commits it. No result is reported before all writes are on disk. */
  #commitShared(writes: readonly WaitingWrite[], slices: Slices): MaybePromise<void> {
    const { connection, files, log, kept, states } = this.#target
    const isOnly = writes.length === 1
    let isCommitted = false
    const runAll = (): MaybePromise<readonly WriteOutcome[]> => {
      for (const { about } of writes) kept.forget(about.steps)
      return mapSliced(slices, writes, (write) =>
        whenReady(this.#runAlone(write, isOnly, slices), (result): WriteOutcome => [write, result]),
      )
    }
    const finish = (outcomes: readonly WriteOutcome[]): void => {
      // If the only write was rejected, the transaction has already been rolled back.
      const isOpen = connection.isInTransaction
      if (isOpen) log.beforeCommit()
      requireInPlace(files)
      if (isOpen) commit(connection)
      if (!files.checkNow()) throw unknown(displaced())
      isCommitted = isOpen
      for (const [{ start, refuse }, result] of outcomes) {
        if ('thrown' in result) refuse(result.thrown)
        else start(result)
      }
      states.tookEffect(
        outcomes.flatMap(([{ about }, result]) => ('ok' in result && result.ok ? about.steps : [])),
      )
    }
    const fail = (thrown: unknown): void => {
      states.failed()
      for (const { refuse } of writes) refuse(explain(thrown))
      tryRollback(connection)
    }
    const committing = whenFailed(() => whenReady(runAll(), finish), fail)
    return whenReady(committing, () => log.end(isCommitted))
  }

  /**
   * Runs a write so that it has no effect if it fails. If it is the only write of the transaction, the transaction is
   * rolled back. Fails only if the whole transaction is lost.
   */
  #runAlone(write: WaitingWrite, isOnly: boolean, slices: Slices): MaybePromise<WriteOutcome[1]> {
    const { connection, log } = this.#target
    const { steps, by, isMigration, verify, signal, state } = write.about
    if (state === 'left') return { thrown: unavailable(signal?.reason) }
    begin(write)
    // Savepoints are avoided if possible, because SQLite copies every page that is written after a savepoint.
    const isSaved = !isOnly && !isOneStatement(steps)
    const recorded = log.begin(steps, { by, isMigration })
    const end = (isOk: boolean): void => {
      if (isOnly && !isOk) connection.execute('ROLLBACK')
      else if (isSaved) {
        if (!isOk) connection.execute('ROLLBACK TO one')
        connection.execute('RELEASE one')
      } else if (!isOk) recorded?.undo()
    }
    if (isSaved) connection.execute('SAVEPOINT one')
    const run = (): MaybePromise<WriteOutcome[1]> => {
      verify()
      return whenReady(this.#apply(write.about, recorded?.recording, slices), (result) => {
        end(result.ok)
        return result
      })
    }
    return whenFailed(run, (thrown) => {
      if (!connection.isInTransaction) throw thrown
      end(false)
      return { thrown: explain(thrown) }
    })
  }

  /** Applies the steps of a write in order. The caller undoes them if the result is not ok. */
  #apply(
    { steps, suspects }: QueuedWrite,
    recording: SqlEngine['recording'],
    slices: Slices,
  ): MaybePromise<WriteResult> {
    const { connection, engine: plain } = this.#target
    const engine = recording ? { ...plain, recording } : plain
    const isSpread = steps.some((step) => engine.isSpread?.(step.in) === true)
    const applying = applySteps(engine, steps, suspects)(askOn({ connection, slices }, isSpread))
    return whenReady(applying, (outcome) => {
      if (!('taken' in outcome)) return outcome
      const { taken } = outcome
      return whenReady(
        findTaken(engine, taken)(askOn({ connection, slices })),
        (fields): WriteResult => ({ ok: false, step: taken.step, reason: 'unique', fields }),
      )
    })
  }
}

/** Lets a waiting write leave when its signal aborts. A write has no effect until its first step is applied. */
function hear({ about, refuse }: WaitingWrite): void {
  const { signal, leave, state } = about
  if (!signal || leave || state !== 'waiting') return
  about.leave = () => {
    about.state = 'left'
    refuse(unavailable(signal.reason))
  }
  if (signal.aborted) about.leave()
  else signal.addEventListener('abort', about.leave, { once: true })
}

/** Marks a write as begun. From now on its signal is ignored and it runs to its end. */
function begin({ about }: WaitingWrite): void {
  about.state = 'begun'
  if (about.leave) about.signal?.removeEventListener('abort', about.leave)
}

/** Takes from the queue as many writes as can share a transaction. */
function takeShared(waiting: WaitingLine<OpenWrite, WriteResult>): readonly WaitingWrite[] {
  const taken: WaitingWrite[] = []
  let steps = 0
  for (let next = waiting.peek(); next && taken.length < MAX_SHARED; next = waiting.peek()) {
    steps += next.about.steps.length
    if (taken.length > 0 && steps > MAX_STEPS) break
    waiting.take()
    taken.push(next)
  }
  return taken
}

/** Throws if the database files were deleted or replaced, because a commit would be lost. */
function requireInPlace(files: OpenFiles): void {
  if (!files.areInPlace()) throw displaced()
}

/**
 * Rolls the transaction back. Returns whether it has ended. If it has not, the rollback is tried again before the next
 * transaction.
 */
function tryRollback(connection: Connection): boolean {
  try {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
  } catch {}
  return !connection.isInTransaction
}

/**
 * Commits the transaction. If this fails, the writes may still be on disk, so the outcome is unknown unless the commit
 * failed before its last write to the disk and was then rolled back.
 */
function commit(connection: Connection): void {
  try {
    connection.execute('COMMIT')
  } catch (cause) {
    if (isBeforeCommit(cause) && tryRollback(connection)) throw cause
    throw unknown(cause)
  }
}

const unknown = (cause: unknown): ServiceError =>
  new ServiceError(
    'outcome_unknown',
    'The database file could not be written. It is unknown whether the write took effect.',
    { cause },
  )

/** Whether a write needs no savepoint: only its last step writes, with a statement that changes nothing if it fails. */
const isOneStatement = (steps: readonly WriteStep[]): boolean =>
  steps.every(
    (step, i) => 'require' in step || 'refuse' in step || (i === steps.length - 1 && !('remove' in step)),
  )

/** Performs the reads before a write that has a `refuse` step whose filter no index answers. */
export interface Surveyor {
  readonly queue: WriteQueue
  /** Whether it takes long to find one match of a filter. */
  isLong(collection: string, filter: Filter): boolean
  /** Returns the ids of the documents that match. They come from a snapshot that is taken after the call begins. */
  listIds(collection: string, query: ListQuery): MaybePromise<readonly string[]>
}

/** The maximum number of matches to find before a transaction. Only one has to match still when the transaction runs. */
const MAX_FOUND = 100

/**
 * The maximum number of attempts while other processes keep writing. If all of them fail, the filters are evaluated
 * inside the transaction, without a pause.
 */
const MAX_ATTEMPTS = 4

/** Thrown inside the transaction if the documents found before it are out of date. */
const OVERTAKEN = Symbol('overtaken')

/**
 * Performs a write. If no index answers the filter of a `refuse` step, its matches are searched for before the
 * transaction, in slices. In the transaction, only these documents and those written since can match, so only they are
 * checked again.
 */
export function writeSurveyed(
  surveyor: Surveyor,
  steps: readonly WriteStep[],
  { signal, by = null, isMigration = false, caller }: WriteOptions,
): Promise<WriteResult> {
  const long = steps.filter((step) => 'refuse' in step && surveyor.isLong(step.in, step.refuse))
  const plain: QueuedWrite = {
    steps,
    signal,
    by,
    isMigration,
    caller,
    suspects: () => undefined,
    verify: () => {},
  }
  return long.length === 0 ? surveyor.queue.write(plain) : writeLong(surveyor, plain, long)
}

async function writeLong(
  { queue, listIds }: Surveyor,
  plain: QueuedWrite,
  long: readonly WriteStep[],
): Promise<WriteResult> {
  const { signal, caller } = plain
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const watch = queue.watch()
    try {
      const found = new Map<WriteStep, readonly string[]>()
      for (const step of long) {
        if (!('refuse' in step)) continue
        const query = { filter: step.refuse, sort: [], skip: 0, limit: MAX_FOUND }
        const listing = listIds(step.in, {
          ...query,
          ...(signal ? { signal } : {}),
          ...(caller === undefined ? {} : { caller }),
        })
        found.set(step, await untilLeft(listing, signal))
      }
      return await queue.write({
        ...plain,
        verify() {
          if (!watch.holds()) throw OVERTAKEN
        },
        suspects(step) {
          const known = found.get(step)
          return known && suspectsOf(known, watch.written(step.in))
        },
      })
    } catch (thrown) {
      if (thrown !== OVERTAKEN) throw explain(thrown)
    } finally {
      queue.unwatch(watch)
    }
  }
  return queue.write(plain)
}

/**
 * Waits for `work`, but rejects immediately if the signal aborts. This is safe, because nothing has been written yet.
 */
function untilLeft<T>(work: MaybePromise<T>, signal: AbortSignal | undefined): MaybePromise<T> {
  if (!signal || !(work instanceof Promise)) return work
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(unavailable(signal.reason))
    const end = (): void => signal.removeEventListener('abort', leave)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(end)
  })
}

/**
 * Returns the ids to check again. If `MAX_FOUND` matches were found, there may be more matches, so the check is
 * conclusive only if one of those found still matches.
 */
function* suspectsOf(found: readonly string[], written: Iterable<string>): Iterable<string> {
  yield* found
  if (found.length >= MAX_FOUND) throw OVERTAKEN
  yield* written
}
