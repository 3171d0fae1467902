import { bounds } from '../../../core/bounds.js'
import { ServiceError } from '../../../core/errors.js'
import { FairQueue } from '../../../core/fair-queue.js'
import type { Filter } from '../../../core/filter/filter.js'
import type { Slice, Sliced } from '../../../core/slices.js'
import type { ListQuery, MaybePromise, WriteOptions, WriteResult, WriteStep } from '../../../core/storage.js'
import { applySteps, type Suspects } from '../../sql/apply-steps.js'
import type { SqlEngine } from '../../sql/engine.js'
import { findTaken } from '../../sql/find-taken.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'
import { drive } from '../connection/drive.js'
import type { OpenFiles } from '../connection/open-files.js'
import { displaced, explain, isBeforeCommit, isBusy, unavailable } from '../faults.js'
import type { LogWriter } from '../log/sqlite-log.js'

/** The steps of a write, and the engine that applies them. */
interface WriteWork {
  readonly steps: readonly WriteStep[]
  readonly suspects: Suspects
  /** Records the write if its collections are logged. */
  readonly engine: SqlEngine
}

/** Applies the steps in order, inside a transaction. The caller rolls the transaction back if the result is not ok. */
function* writeSteps(
  connection: Connection,
  { steps, suspects, engine }: WriteWork,
  slice: Slice,
): Sliced<WriteResult> {
  const isSpread = steps.some((step) => engine.isSpread?.(step.in) === true)
  const outcome = yield* drive(connection, applySteps(engine, steps, suspects), slice, isSpread)
  if (!('taken' in outcome)) return outcome
  const { taken } = outcome
  const fields = yield* drive(connection, findTaken(engine, taken), slice)
  return { ok: false, step: taken.step, reason: 'unique', fields }
}

/**
 * Records which documents this process writes from a certain moment on. Also detects that other processes have written,
 * but not which documents.
 */
interface Watch {
  /** Returns the ids of the documents that were written to a collection, or may have been. */
  written(collection: string): Iterable<string>
  /** Whether no other process has written since the watch began. Called inside a transaction. */
  holds(): boolean
  end(): void
}

/** The watches that have begun and have not ended. */
interface Watches {
  /** Begins a watch. `running` contains the steps of the open transaction, whose documents count as written too. */
  begin(running: Iterable<readonly WriteStep[]>): Watch
  /** Notifies all watches of a write's steps before the first step is applied. */
  tell(steps: readonly WriteStep[]): void
}

function createWatches(connection: Connection): Watches {
  const all = new Set<(steps: readonly WriteStep[]) => void>()
  return {
    begin(running) {
      const ids = new Map<string, Set<string>>()
      const note = (steps: readonly WriteStep[]): void => {
        for (const step of steps) {
          const document = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
          if (!document) continue
          const known = ids.get(step.in) ?? new Set()
          ids.set(step.in, known.add(document._id))
        }
      }
      for (const steps of running) note(steps)
      all.add(note)
      const version = readDataVersion(connection)
      return {
        written: (collection) => ids.get(collection) ?? [],
        holds: () => readDataVersion(connection) === version,
        end: () => void all.delete(note),
      }
    },
    tell(steps) {
      for (const note of all) note(steps)
    },
  }
}

/**
 * A queue of writes. Writes that arrive together share a transaction, and so wait for the disk only once, but each can
 * fail without the others. If more writes wait than fit into one transaction, callers are served in turn. A transaction
 * may pause so that the event loop can run. During the pause no other connection can write.
 */
export interface WriteQueue {
  write(write: QueuedWrite): Promise<WriteResult>
  /** Begins to record which documents are written (see `Watch`). */
  watch(): Watch
  /** Resolves as soon as no write is waiting or running. */
  drain(): Promise<void>
}

interface QueuedWrite {
  readonly steps: readonly WriteStep[]
  readonly signal: AbortSignal | undefined
  readonly by: string | null
  /** The caller, used as the key for fairness in queues. */
  readonly caller: string | undefined
  readonly suspects: Suspects
  /** Called inside the transaction. Throws if data on which the write depends has changed. */
  readonly verify: () => void
}

/** Receives the events of writes. */
export interface WriteListener {
  /** Called for each write, before its first step is applied. */
  begins(steps: readonly WriteStep[]): void
  /** Called with the steps of all writes that were committed together. */
  tookEffect(steps: readonly WriteStep[]): void
  /** Called when a transaction was not committed, or when it is unknown whether it was. */
  failed(): void
}

interface WaitingWrite extends QueuedWrite {
  readonly since: number
  state: 'waiting' | 'begun' | 'left'
  leave?: () => void
  readonly resolve: (result: WriteResult) => void
  readonly reject: (cause: unknown) => void
}

/** The maximum number of writes in one transaction, and of their steps. A single write may have more steps. */
const MAX_SHARED = 200
const MAX_STEPS = 1000

/** The maximum number of milliseconds for which a write waits for other processes. */
const MAX_WAIT = 5000

/** The longest pause between two attempts, in milliseconds. */
const PAUSE = 15

export function createWriteQueue(target: WriterResources): WriteQueue {
  const { connection, files } = target
  // The queue has no limit of its own: a write leaves it when its signal aborts, or after `MAX_WAIT`.
  const waiting = new FairQueue<WaitingWrite>()
  let running: readonly WaitingWrite[] = []
  let isScheduled = false
  const onDrained: (() => void)[] = []
  const watches = createWatches(connection)

  const schedule = (milliseconds?: number): void => {
    if (isScheduled) return
    isScheduled = true
    const run = (): void => {
      isScheduled = false
      flush()
    }
    if (milliseconds === undefined) setImmediate(run)
    else setTimeout(run, milliseconds)
  }

  const flush = (): void => {
    if (running.length > 0) {
      for (const write of waiting) hear(write)
      return
    }
    dropHopeless()
    if (waiting.length > 0) {
      const pause = tryTransaction()
      if (waiting.length > 0) schedule(pause)
    }
    if (waiting.length + running.length === 0) for (const resolve of onDrained.splice(0)) resolve()
  }

  /**
   * Tries to begin a transaction. Returns the milliseconds until waiting writes are retried, or `undefined` if they
   * need no pause.
   */
  const tryTransaction = (): number | undefined => {
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
        write.reject(explain(thrown))
      }
      return undefined
    }
    running = takeShared(waiting)
    for (const { steps } of running) watches.tell(steps)
    const slice: Slice = { left: bounds.slice }
    goOn(commitShared(target, running, slice), slice)
    return undefined
  }

  /** Continues the open transaction with one slice per turn of the event loop. */
  const goOn = (work: Sliced<void>, slice: Slice): void => {
    slice.left = bounds.slice
    if (work.next().done) {
      running = []
      schedule()
    } else {
      for (const write of running) hear(write)
      setImmediate(() => goOn(work, slice))
    }
  }

  const dropHopeless = (): void => {
    const now = performance.now()
    const isHopeless = ({ signal, since, state }: WaitingWrite): boolean =>
      state === 'left' || signal?.aborted === true || now - since > MAX_WAIT
    for (const write of waiting) {
      if (!isHopeless(write)) continue
      waiting.delete(write)
      write.reject(
        unavailable(
          new Error(
            'the write could not begin, because other processes kept writing or the caller aborted the request',
          ),
        ),
      )
    }
  }

  return {
    write: (write) =>
      new Promise((resolve, reject) => {
        const own = { since: performance.now(), state: 'waiting' } as const
        waiting.add({ ...own, resolve, reject, ...write }, write.caller)
        schedule()
      }),
    watch: () => watches.begin(running.map(({ steps }) => steps)),
    drain: () =>
      new Promise((resolve) => {
        onDrained.push(resolve)
        schedule()
      }),
  }
}

/** Lets a waiting write leave when its signal aborts. A write has no effect until its first step is applied. */
function hear(write: WaitingWrite): void {
  const { signal, reject } = write
  if (!signal || write.leave || write.state !== 'waiting') return
  write.leave = () => {
    write.state = 'left'
    reject(unavailable(signal.reason))
  }
  if (signal.aborted) write.leave()
  else signal.addEventListener('abort', write.leave, { once: true })
}

/** Marks a write as begun. From now on its signal is ignored and it runs to its end. */
function begin(write: WaitingWrite): void {
  write.state = 'begun'
  if (write.leave) write.signal?.removeEventListener('abort', write.leave)
}

/** Takes from the queue as many writes as can share a transaction. */
function takeShared(waiting: FairQueue<WaitingWrite>): readonly WaitingWrite[] {
  const taken: WaitingWrite[] = []
  let steps = 0
  for (let next = waiting.peek(); next && taken.length < MAX_SHARED; next = waiting.peek()) {
    steps += next.steps.length
    if (taken.length > 0 && steps > MAX_STEPS) break
    waiting.take()
    taken.push(next)
  }
  return taken
}

type WriteOutcome = readonly [write: WaitingWrite, result: WriteResult | { readonly thrown: unknown }]

/** The connection of a write queue, and the objects that its writes use. */
interface WriterResources {
  readonly connection: Connection
  readonly engine: SqlEngine
  readonly files: OpenFiles
  readonly log: LogWriter
  readonly listener: WriteListener
}

/** Runs writes in the open transaction and commits it. No result is reported before all writes are on disk. */
function* commitShared(target: WriterResources, writes: readonly WaitingWrite[], slice: Slice): Sliced<void> {
  const { connection, files, log, listener } = target
  let isCommitted = false
  try {
    const outcomes: WriteOutcome[] = []
    for (const { steps } of writes) listener.begins(steps)
    const isOnly = writes.length === 1
    for (const write of writes) outcomes.push([write, yield* runAlone(target, { write, isOnly }, slice)])
    // If the only write was rejected, the transaction has already been rolled back.
    const isOpen = connection.isInTransaction
    if (isOpen) log.beforeCommit()
    requireInPlace(files)
    if (isOpen) commit(connection)
    if (!files.checkNow()) throw unknown(displaced())
    isCommitted = isOpen
    for (const [{ resolve, reject }, result] of outcomes) {
      if ('thrown' in result) reject(result.thrown)
      else resolve(result)
    }
    listener.tookEffect(outcomes.flatMap(([{ steps }, result]) => ('ok' in result && result.ok ? steps : [])))
  } catch (thrown) {
    listener.failed()
    for (const { reject } of writes) reject(explain(thrown))
    tryRollback(connection)
  }
  log.end(isCommitted)
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

/**
 * Runs a write so that it has no effect if it fails. If it is the only write of the transaction, the transaction is
 * rolled back. Throws only if the whole transaction is lost.
 */
function* runAlone(
  { connection, engine, log }: WriterResources,
  { write, isOnly }: { readonly write: WaitingWrite; readonly isOnly: boolean },
  slice: Slice,
): Sliced<WriteResult | { readonly thrown: unknown }> {
  const { steps, by, suspects, verify, signal } = write
  if (write.state === 'left') return { thrown: unavailable(signal?.reason) }
  begin(write)
  // Savepoints are avoided if possible, because SQLite copies every page that is written after a savepoint.
  const isSaved = !isOnly && !isOneStatement(steps)
  const recorded = log.begin(steps, by)
  const end = (isOk: boolean): void => {
    if (isOnly && !isOk) connection.execute('ROLLBACK')
    else if (isSaved) connection.execute(isOk ? 'RELEASE one' : 'ROLLBACK TO one; RELEASE one')
    else if (!isOk) recorded?.undo()
  }
  if (isSaved) connection.execute('SAVEPOINT one')
  try {
    verify()
    const recording = recorded?.recording
    const recordingEngine = recording ? { ...engine, recording } : engine
    const result = yield* writeSteps(connection, { steps, suspects, engine: recordingEngine }, slice)
    end(result.ok)
    return result
  } catch (thrown) {
    if (!connection.isInTransaction) throw thrown
    end(false)
    return { thrown: explain(thrown) }
  }
}

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
  { signal, by = null, caller }: WriteOptions,
): Promise<WriteResult> {
  const long = steps.filter((step) => 'refuse' in step && surveyor.isLong(step.in, step.refuse))
  const plain: QueuedWrite = { steps, signal, by, caller, suspects: () => undefined, verify: () => {} }
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
      watch.end()
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
