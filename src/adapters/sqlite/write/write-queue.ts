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
import type { LogWriter } from '../log/log-writer.js'

/** The steps of a write, and the engine that applies them. */
interface WriteWork {
  readonly steps: readonly WriteStep[]
  readonly suspects: Suspects
  /** It records the write if its collections are logged. */
  readonly engine: SqlEngine
}

/** Applies steps in turn, inside a transaction that the caller rolls back if the result is not ok. */
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

/** Records the writes of this process from a moment on. Writes of other processes are detected, but not their ids. */
interface Watch {
  /** The ids that were written to a collection, or may have been. */
  written(collection: string): Iterable<string>
  /** Whether no other process has written since. Called inside a transaction. */
  holds(): boolean
  end(): void
}

/** All current watches. */
interface Watches {
  /** Begins a watch. `running` has the steps of an open transaction. */
  begin(running: Iterable<readonly WriteStep[]>): Watch
  /** Called with all steps of a write before the first is applied. */
  tell(steps: readonly WriteStep[]): void
}

/** Creates the watches of a connection. */
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
 * Writes that arrive together share a transaction, and so one wait for the disk; each has its own savepoint. If more
 * writes wait than one transaction takes, callers are served in turn. A transaction pauses between turns of the event
 * loop; meanwhile no other connection can write.
 */
export interface WriteQueue {
  write(write: QueuedWrite): Promise<WriteResult>
  /** Begins to watch writes. */
  watch(): Watch
  /** Resolves when no write waits any more. */
  drain(): Promise<void>
}

/** A write in the queue. */
interface QueuedWrite {
  readonly steps: readonly WriteStep[]
  readonly signal: AbortSignal | undefined
  readonly by: string | null
  /** The caller, as a key of fair queues. */
  readonly caller: string | undefined
  readonly suspects: Suspects
  /** Called inside the transaction: throws if data on which the write depends has changed. */
  readonly verify: () => void
}

/** Receives the events of writes. */
export interface WriteListener {
  /** Called for each write, before its first step is applied. */
  begins(steps: readonly WriteStep[]): void
  /** Called with the steps of all writes that were committed together. */
  tookEffect(steps: readonly WriteStep[]): void
  /** Called when a transaction was not committed, or its outcome is unknown. */
  failed(): void
}

interface WaitingWrite extends QueuedWrite {
  readonly since: number
  state: 'waiting' | 'begun' | 'left'
  leave?: () => void
  readonly resolve: (result: WriteResult) => void
  readonly reject: (cause: unknown) => void
}

/** The most writes in one transaction, and the most steps, unless one write has more. */
const MAX_SHARED = 200
const MAX_STEPS = 1000

/** The most milliseconds that a write waits for other processes. */
const MAX_WAIT = 5000

/** The longest pause between attempts, in milliseconds. */
const PAUSE = 15

/** Creates the queue of a connection. */
export function createWriteQueue(target: WriterResources): WriteQueue {
  const { connection, files } = target
  // A write leaves when its signal aborts, or after `MAX_WAIT`.
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

  /** Tries to write. Returns the milliseconds until the waiting writes are retried; `undefined` if none are left. */
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

  /** Continues the open transaction, one slice per turn of the event loop. */
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
      write.reject(unavailable(new Error('other processes kept writing, or the caller has left')))
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

/** Lets a waiting write leave when its signal aborts: before its first step, it has no effect. */
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

/** From now on a write runs to its end. */
function begin(write: WaitingWrite): void {
  write.state = 'begun'
  if (write.leave) write.signal?.removeEventListener('abort', write.leave)
}

/** Takes the first writes, as many as may share a transaction. */
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

/** The connection of a queue, and the objects that its writes use. */
interface WriterResources {
  readonly connection: Connection
  readonly engine: SqlEngine
  readonly files: OpenFiles
  readonly log: LogWriter
  readonly listener: WriteListener
}

/** Runs writes in the open transaction. No result is reported before all of them are on disk. */
function* commitShared(target: WriterResources, writes: readonly WaitingWrite[], slice: Slice): Sliced<void> {
  const { connection, files, log, listener } = target
  let isCommitted = false
  try {
    const outcomes: WriteOutcome[] = []
    for (const { steps } of writes) listener.begins(steps)
    const isOnly = writes.length === 1
    for (const write of writes) outcomes.push([write, yield* runAlone(target, { write, isOnly }, slice)])
    // A rejected write that was alone has been rolled back.
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

/** Throws if the files were deleted or replaced, so that a commit would be lost. */
function requireInPlace(files: OpenFiles): void {
  if (!files.areInPlace()) throw displaced()
}

/**
 * Rolls back. Returns whether nothing is left of the transaction; if not, the rollback is repeated before the next
 * one.
 */
function tryRollback(connection: Connection): boolean {
  try {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
  } catch {}
  return !connection.isInTransaction
}

/**
 * A commit that fails may still have reached the disk, unless it failed before its last write there and was rolled
 * back.
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
  new ServiceError('outcome_unknown', 'The database file could not be written.', { cause })

/** Whether a failed write has changed nothing: only its last step writes, by a statement that fails as a whole. */
const isOneStatement = (steps: readonly WriteStep[]): boolean =>
  steps.every(
    (step, i) => 'require' in step || 'refuse' in step || (i === steps.length - 1 && !('remove' in step)),
  )

/**
 * Runs a write so that a failure leaves no effect; the only write of a transaction is rolled back with it. Throws
 * only if the whole transaction is lost.
 */
function* runAlone(
  { connection, engine, log }: WriterResources,
  { write, isOnly }: { readonly write: WaitingWrite; readonly isOnly: boolean },
  slice: Slice,
): Sliced<WriteResult | { readonly thrown: unknown }> {
  const { steps, by, suspects, verify, signal } = write
  if (write.state === 'left') return { thrown: unavailable(signal?.reason) }
  begin(write)
  // A savepoint copies every page that is written after it.
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

/** The reads of a write whose `refuse` steps no index answers. */
export interface Surveyor {
  readonly queue: WriteQueue
  /** Whether the search for one match takes long. */
  isLong(collection: string, filter: Filter): boolean
  /** The ids of a list, from a snapshot taken between call and result. */
  listIds(collection: string, query: ListQuery): MaybePromise<readonly string[]>
}

/** The most documents found in advance: one that still matches suffices. */
const MAX_FOUND = 100

/**
 * The most attempts while other processes keep writing; the next one checks inside its transaction, without a pause.
 */
const MAX_ATTEMPTS = 4

/** Thrown if the documents found in advance are out of date. */
const OVERTAKEN = Symbol('overtaken')

/**
 * Writes. If no index answers the filter of a `refuse` step, its matches are searched before the transaction, in
 * slices. In the transaction, only those and the documents written since can match; they are checked again.
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

/** Rejects at once when the caller leaves: nothing was written yet. */
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

/** If there were more than `MAX_FOUND` matches, one of those found must still match. */
function* suspectsOf(found: readonly string[], written: Iterable<string>): Iterable<string> {
  yield* found
  if (found.length >= MAX_FOUND) throw OVERTAKEN
  yield* written
}
