import { ServiceError } from '../../../core/errors.js'
import { type Waiter, WaitingLine } from '../../../core/waiting-line.js'
import { overloaded } from '../faults.js'
import { isUnhurried, MAX_WAITING, type WorkCaller } from './lease.js'
import { ignore } from './session.js'
import { atEndOfTurn, LONG_WAIT, startTimer, stopTimer } from './timers.js'

/** How to process items: several in one statement (`together`), or one `alone`. */
export interface BatchWork<Item, Result> {
  /**
   * Processes several items in one statement. Returns the result of each item, in order, or `undefined` for an item
   * that must be processed alone. A `ServiceError` rejects all items, unless the statement was abandoned. Any other
   * error means that nothing was done, so that each item is processed alone.
   */
  together(items: readonly Item[], shared: SharedStatement): Promise<readonly (Result | undefined)[]>
  alone(item: Item, caller: WorkCaller): Promise<Result>
  /** Creates the error for a caller that stops waiting. `isSent`: whether the statement may have been sent. */
  leaving(cause: unknown, isSent: boolean): ServiceError
  /** The maximum number of items in one statement. Default: 32. */
  readonly most?: number
}

/**
 * Processes an item, in one statement with other items that arrive in the same turn of the event loop or while
 * earlier statements run.
 */
export type Batch<Item, Result> = (item: Item, caller: WorkCaller) => Promise<Result>

/** A queued item, and its caller. */
interface QueuedItem<Item> {
  readonly item: Item
  readonly caller: WorkCaller
}

type Member<Item, Result> = Waiter<QueuedItem<Item>, Result>

/** The parts of a member that do not depend on its item. */
type SharingMember = Pick<Member<unknown, never>, 'about' | 'refuse'>

/** The default of `BatchWork.most`. */
const MOST_TOGETHER = 32

/** The maximum number of statements that run at the same time. Slow statements do not count. */
const MOST_UNDER_WAY = 4

/**
 * A statement that several callers share. It is aborted when no caller waits any more, or when it is abandoned. It is a
 * class because V8 would keep an object literal with a getter, including its members, until a major garbage collection.
 */
export class SharedStatement implements WorkCaller {
  readonly #members: readonly SharingMember[]
  readonly #leaving: BatchWork<never, never>['leaving']
  readonly #ends: (() => void)[] = []
  readonly #gone = new Set<unknown>()
  #controller: AbortController | undefined
  /** Whether the statement was abandoned while callers waited. */
  isAbandoned = false
  /** Whether the statement may have been sent. */
  isSent = false

  constructor(members: readonly SharingMember[], leaving: BatchWork<never, never>['leaving']) {
    this.#members = members
    this.#leaving = leaving
  }

  /** The first use begins to listen to the signals of all members. A member whose signal aborts is rejected. */
  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    this.#controller = new AbortController()
    for (const member of this.#members) {
      const { signal } = member.about.caller
      if (!signal) continue
      const leave = (): void => {
        this.#gone.add(member)
        member.refuse(this.#leaving(signal.reason, this.isSent))
        if (this.#gone.size === this.#members.length) this.#controller?.abort()
      }
      this.#ends.push(() => signal.removeEventListener('abort', leave))
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    }
    if (this.isAbandoned) this.#controller.abort()
    return this.#controller.signal
  }

  get callers(): readonly (string | undefined)[] {
    return this.#members.map(({ about }) => about.caller.caller)
  }

  /** True if at least one member has no signal that will end its wait. */
  get isUnhurried(): boolean {
    return this.#members.some(({ about }) => isUnhurried(about.caller))
  }

  abandon(): void {
    this.isAbandoned = true
    this.#controller?.abort()
  }

  hasLeft(member: unknown): boolean {
    return this.#gone.has(member)
  }

  end(): void {
    for (const end of this.#ends) end()
  }
}

/** Creates a batch. */
export function createBatch<Item, Result>({
  together,
  alone,
  leaving,
  most = MOST_TOGETHER,
}: BatchWork<Item, Result>): Batch<Item, Result> {
  const waiting = new WaitingLine<QueuedItem<Item>, Result>(MAX_WAITING, overloaded)
  let underWay = 0
  let isDue = false

  const doAlone = ({ about, start }: Member<Item, Result>): Promise<unknown> => {
    const doing = alone(about.item, about.caller)
    start(doing)
    return doing
  }
  const doTogether = async (
    members: readonly Member<Item, Result>[],
    shared: SharedStatement,
  ): Promise<void> => {
    let results: readonly (Result | undefined)[] = []
    try {
      results = await together(
        members.map(({ about }) => about.item),
        shared,
      )
    } catch (thrown) {
      if (thrown instanceof ServiceError && !shared.isAbandoned) {
        for (const { refuse } of members) refuse(thrown)
        return
      }
    }
    for (const [i, member] of members.entries()) {
      const result = results[i]
      if (result !== undefined) member.start(result)
      else if (!shared.hasLeft(member)) void doAlone(member)
    }
  }
  const run = async (members: readonly Member<Item, Result>[]): Promise<void> => {
    const [only] = members
    const shared = new SharedStatement(members, leaving)
    let isCounted = true
    underWay += 1
    const discount = (): void => {
      if (isCounted) underWay -= 1
      isCounted = false
      begin()
    }
    const timer = startTimer(discount, LONG_WAIT).unref()
    const doing = only && members.length === 1 ? doAlone(only) : doTogether(members, shared)
    await doing.catch(ignore)
    stopTimer(timer)
    shared.end()
    discount()
  }
  const begin = (): void => {
    while (waiting.length > 0 && underWay < MOST_UNDER_WAY)
      void run(Array.from({ length: Math.min(most, waiting.length) }).flatMap(() => waiting.take() ?? []))
  }
  const beginDue = (): void => {
    isDue = false
    begin()
  }

  return (item, caller) => {
    if (!isDue) atEndOfTurn(beginDue)
    isDue = true
    return waiting.wait({ item, caller }, { caller: caller.caller })
  }
}
