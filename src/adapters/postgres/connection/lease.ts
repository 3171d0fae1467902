import { FairQueue } from '../../../core/fair-queue.js'
import { classify, explain, isRepeatable, outcomeUnknown, overloaded, unavailable } from '../faults.js'
import { cancelRead } from './cancel.js'
import { KeepAlive } from './keep-alive.js'
import type { PoolSource } from './pool.js'
import { ClientSession, type DatabaseSession, ignore, PreparedStatements } from './session.js'
import { LEAVE, LEFT, LONG_WAIT, pause, SILENCE, startTimer, stopTimer, within } from './timers.js'
import { COMMIT, isBegin, ROLLBACK } from './transaction.js'

/** The caller of database work. */
export interface WorkCaller {
  /** The key of the caller in fair queues. The getter may be costly. */
  readonly caller?: string | undefined
  /** The callers of shared work, used instead of `caller`. */
  readonly callers?: readonly (string | undefined)[]
  /** Aborts the work: reads are cancelled. The getter may be costly. */
  readonly signal?: AbortSignal | undefined
  /** Whether the signal may never abort, however long the work takes. Default: true if there is no signal. */
  readonly isUnhurried?: boolean
}

/** Whether nothing but the adapter can end the caller's wait. */
export const isUnhurried = (caller: WorkCaller): boolean => caller.isUnhurried ?? !caller.signal

/** How work uses its connection. */
export interface WorkOptions {
  /** Whether the work may be long. Such work shares half of the connections. */
  readonly mayBeLong?: boolean
  /**
   * Whether the work is a write. A write is never cancelled, because it may be committing. After it was given up, it
   * can send only a ROLLBACK, and it returns its connection when it has ended.
   */
  readonly writes?: boolean
  /** Whether the work may take as long as the server is busy with it, for example when it builds an index. */
  readonly mayKeepAlive?: boolean
}

/** Work for one connection, and the functions that settle the promise of its caller. */
interface Task {
  readonly work: (session: DatabaseSession) => Promise<unknown>
  readonly caller: WorkCaller
  readonly options: WorkOptions
  readonly resolve: (value: unknown) => void
  readonly reject: (thrown: unknown) => void
}

/**
 * The maximum number of leases in one queue. If there are more, the last lease of the caller with the most leases is
 * rejected immediately.
 */
export const MAX_WAITING = 256

/** The number of connections assumed for a pool of unknown size, which is the default of `pg`. */
const DEFAULT_SIZE = 10

/**
 * The share of the connections that one kind of work may use. `places`: how many connections it may still take.
 * `waiting`: the leases that wait for one of them.
 */
class ConnectionShare {
  places: number
  readonly waiting = new FairQueue<Lease>(MAX_WAITING)

  constructor(places: number) {
    this.places = Math.max(1, places)
  }
}

/** The right of some work to use one connection, from the wait for the connection until its return. */
class Lease {
  readonly #connections: Connections
  readonly #task: Task
  /** The shares in which the work needs a place, and the number of these places that it has taken, in order. */
  readonly shares: readonly ConnectionShare[]
  taken = 0
  readonly callers: readonly (string | undefined)[]
  /** The queue in which the lease waits for a place or a connection. */
  queue: FairQueue<Lease> | undefined
  #session: ClientSession | undefined
  #working: Promise<unknown> = Promise.resolve()
  #signal: AbortSignal | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  #isLate = false
  #isGivenUp = false
  /** Whether the transaction of a write is open and no COMMIT was sent, so that giving it up has no effect. */
  #isOpen = false

  constructor(connections: Connections, task: Task, shares: readonly ConnectionShare[]) {
    this.#connections = connections
    this.#task = task
    this.shares = shares
    this.callers = task.caller.callers ?? [task.caller.caller]
  }

  /** Waits for a connection. Throws if too many requests wait for the host application's pool. */
  acquire(): void {
    this.#connections.enter(this)
    if (!this.#isOver) this.#startTimer(() => this.noteLongWait(), LONG_WAIT)
  }

  /** Runs the work on a session. */
  run(session: ClientSession): void {
    const { work, caller, options, resolve, reject } = this.#task
    this.#session = session
    if (options.writes) session.check = (text) => this.#checkWrite(text)
    this.#working = work(session)
    this.#working.then(
      (value) => {
        this.#release(session)
        resolve(value)
      },
      (thrown: unknown) => {
        this.#release(session)
        reject(!options.writes && caller.signal?.aborted ? unavailable(thrown) : thrown)
      },
    )
  }

  /** Rejects the work, which has not begun. */
  fail(thrown: unknown): void {
    this.#end()
    this.#task.reject(thrown)
  }

  /** Begins to listen to the signal of the caller, after a long wait or to make room in a full queue. */
  noteLongWait(): void {
    const { caller } = this.#task
    if (this.#isLate || this.#isOver) return
    this.#isLate = true
    stopTimer(this.#timer)
    this.#connections.late.add(this)
    this.#connections.source.hosts?.doubt()
    this.#signal = caller.signal
    if (this.#connections.isLeaving || this.#signal?.aborted) this.giveUp()
    else {
      this.#signal?.addEventListener('abort', this.giveUp, { once: true })
      if (isUnhurried(caller)) this.#watchSilence()
    }
  }

  /** Rejects the work, and returns the connection as soon as nothing of the work runs on it. */
  readonly giveUp = (): void => {
    const [session, working, signal] = [this.#session, this.#working, this.#signal]
    const { options, reject } = this.#task
    this.#end()
    this.#isGivenUp = true
    const reason = signal?.aborted ? signal.reason : new Error('the database did not respond in time')
    reject(options.writes && session && !this.#isOpen ? outcomeUnknown(reason) : unavailable(reason))
    if (!session) {
      this.#connections.leave(this)
      return
    }
    const ending = options.writes
      ? this.#connections.keepAlive.wait(session.client, working)
      : cancelRead(session, working)
    void ending.then((hasEnded) => {
      session.isLost ||= !hasEnded
      this.#connections.takeBack(this, session)
    })
  }

  /** Returns the connection, unless the work was given up. */
  #release(session: ClientSession): void {
    if (this.#isGivenUp) return
    this.#end()
    this.#connections.takeBack(this, session)
  }

  /** After a write was given up, it may only send a ROLLBACK. */
  #checkWrite(text: string): void {
    if (this.#isGivenUp && text !== ROLLBACK) throw unavailable(new Error('the write was given up'))
    this.#isOpen = isBegin(text) || (this.#isOpen && text !== COMMIT)
  }

  /** Gives up the work if its statement is not answered within `SILENCE`, or if it waits as long for a connection. */
  #watchSilence(): void {
    const session = this.#session
    const sent = session?.sent
    const isSilent = (): boolean =>
      !this.#isOver && (session ? session.sent === sent && session.answered !== sent : !this.#session)
    const goesOn = async (): Promise<boolean> =>
      this.#task.options.mayKeepAlive === true &&
      session !== undefined &&
      (await this.#connections.keepAlive.goesOn(session.client)) !== false
    const look = async (): Promise<void> => {
      if (isSilent() && !(await goesOn()) && isSilent()) this.giveUp()
      else if (!this.#isOver) this.#watchSilence()
    }
    this.#startTimer(() => void look(), SILENCE)
  }

  #startTimer(onEnd: () => void, milliseconds: number): void {
    this.#timer = startTimer(onEnd, milliseconds)
    this.#timer.unref()
  }

  /** Ends all waits of the lease. */
  #end(): void {
    this.#isOver = true
    this.#connections.late.delete(this)
    this.#signal?.removeEventListener('abort', this.giveUp)
    stopTimer(this.#timer)
  }
}

/**
 * The connections to one database. They are assigned to leases, fairly among callers. A connection passes from lease to
 * lease. It returns to the pool when no lease waits, or when other code of the host application waits for a connection.
 */
export class Connections {
  readonly source: PoolSource
  readonly keepAlive: KeepAlive
  /** The leases that have waited long. `close` gives them up. */
  readonly late = new Set<Lease>()
  /** Whether leases that have waited long are given up, because the adapter closes. */
  isLeaving = false
  readonly #prepared: PreparedStatements
  readonly #size: number
  /** Long work shares half of the connections, so that it never blocks short work. */
  readonly #long: ConnectionShare
  /** Writes share three quarters of the connections, so that reads are served while writes hang. */
  readonly #writing: ConnectionShare
  /** The leases that have a place in all their shares. */
  readonly #waiting = new FairQueue<Lease>(MAX_WAITING)
  #held = 0
  #connecting = 0
  #isClosed = false
  #onIdle = ignore

  constructor(source: PoolSource) {
    this.source = source
    this.keepAlive = new KeepAlive(source.pool)
    this.#prepared = new PreparedStatements(source.isOwn)
    this.#size = source.pool.options?.max ?? DEFAULT_SIZE
    this.#long = new ConnectionShare(Math.floor(this.#size / 2))
    this.#writing = new ConnectionShare(this.#size - Math.ceil(this.#size / 4))
  }

  /** Whether work that may be long would have to wait for a connection. */
  isFullOfLong(): boolean {
    return this.#long.places === 0
  }

  /** Runs `work` on a connection. Retries it a few times after errors that had no effect (`isRepeatable`). */
  readonly use = <T>(
    work: (session: DatabaseSession) => Promise<T>,
    caller: WorkCaller,
    options: WorkOptions = {},
  ): Promise<T> => {
    const shares = [...(options.mayBeLong ? [this.#long] : []), ...(options.writes ? [this.#writing] : [])]
    const useOnce = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        if (this.#isClosed) throw unavailable(new Error('the connections are closed'))
        new Lease(this, { work, caller, options, resolve, reject }, shares).acquire()
      })
    return retry(useOnce, caller) as Promise<T>
  }

  /**
   * Opens no more connections, waits for `last`, and resolves when all connections are closed or returned. Gives up
   * work that does not end soon.
   */
  async close(last?: Promise<unknown>): Promise<void> {
    this.#isClosed = true
    const stopped = this.keepAlive.stop()
    const leave = (): void => {
      this.isLeaving = true
      for (const lease of this.late) lease.giveUp()
    }
    const leaving = startTimer(leave, LEAVE)
    await last
    await stopped
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
      this.#tellIdle()
    })
    // The wait is limited, because the host application's pool may never answer a `connect`.
    await within(LEAVE + LEFT, idle)
    stopTimer(leaving)
    await this.source.end()
  }

  /**
   * Adds a lease. If its queue is full, rejects the last lease of the caller with the most leases, which may be this
   * lease. Throws if too many requests wait for the host application's pool.
   */
  enter(lease: Lease): void {
    const queue = lease.shares.find(({ places }) => places === 0)?.waiting ?? this.#waiting
    // Leases whose callers have left make room.
    if (queue.length >= MAX_WAITING) for (const waiting of queue) waiting.noteLongWait()
    if (this.source.pool.waitingCount >= MAX_WAITING) throw overloaded()
    this.#takePlaces(lease)
    this.#connect()
  }

  /** Removes a lease that waits. */
  leave(lease: Lease): void {
    lease.queue?.delete(lease)
    this.#returnPlaces(lease)
    this.#connect()
    this.#tellIdle()
  }

  /** Takes back the session of a lease that has ended. */
  takeBack(lease: Lease, session: ClientSession): void {
    session.check = ignore
    this.#returnPlaces(lease)
    if (this.source.pool.waitingCount > 0 || !session.isUsable) this.#close(session)
    else this.#passOn(session)
    this.#connect()
  }

  /** Takes the places that a lease still needs. If a share has none, the lease waits for it. */
  #takePlaces(lease: Lease): void {
    const share = lease.shares[lease.taken]
    if (!share) this.#wait(this.#waiting, lease)
    else if (share.places === 0) this.#wait(share.waiting, lease)
    else {
      share.places -= 1
      share.waiting.pass(lease.callers[0])
      lease.taken += 1
      this.#takePlaces(lease)
    }
  }

  #wait(queue: FairQueue<Lease>, lease: Lease): void {
    lease.queue = queue
    const refused = queue.add(lease, ...lease.callers)
    if (!refused) return
    this.#returnPlaces(refused)
    refused.fail(overloaded())
  }

  /** Returns the places of a lease. Each place passes to the lease that waits for it. */
  #returnPlaces(lease: Lease): void {
    for (const share of lease.shares.slice(0, lease.taken)) {
      const next = share.waiting.take()
      if (next) {
        next.taken += 1
        this.#takePlaces(next)
      } else share.places += 1
    }
  }

  #connect(): void {
    // A waiting lease may also get a connection that is in use, so connections in use count towards the size of the
    // pool.
    if (this.#connecting >= this.#waiting.length || this.#connecting + this.#held >= this.#size) return
    this.#connecting += 1
    this.source.pool.connect().then(
      (client) => {
        this.#connecting -= 1
        this.#held += 1
        const session = new ClientSession(client, this.source, this.#prepared)
        if (session.isUsable) this.#passOn(session)
        else {
          // The adapter has discarded the pool while this connection was being opened.
          this.#close(session)
          this.#connect()
        }
      },
      (thrown: unknown) => {
        this.#connecting -= 1
        if (this.#held === 0) this.#failNext(thrown)
        this.#tellIdle()
      },
    )
  }

  #failNext(thrown: unknown): void {
    const lease = this.#waiting.take()
    if (!lease) return
    this.#returnPlaces(lease)
    lease.fail(explain(classify(thrown)))
    this.#connect()
  }

  #passOn(session: ClientSession): void {
    const lease = this.#waiting.take()
    if (lease) lease.run(session)
    else this.#close(session)
  }

  #close(session: ClientSession): void {
    this.#held -= 1
    session.close()
    this.#tellIdle()
  }

  #tellIdle(): void {
    if (this.#held + this.#connecting + this.#waiting.length === 0) this.#onIdle()
  }
}

/** The maximum number of retries, and the maximum pause before the first, in milliseconds. Later pauses are longer. */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt`. Retries it a limited number of times after repeatable errors. */
async function retry<T>(attempt: () => Promise<T>, caller: WorkCaller): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!isRepeatable(thrown) || retries >= MAX_RETRIES || caller.signal?.aborted) throw thrown
      await pause(Math.random() * PAUSE * (retries + 1))
    }
  }
}
