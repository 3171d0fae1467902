import { ServiceError } from '../../../core/errors.js'
import { FairQueue } from '../../../core/fair-queue.js'
import { overloaded } from '../faults.js'
import { MAX_WAITING, type WorkCaller } from './connections.js'
import { type Leaving, SharedStatement } from './shared-statement.js'
import type { Watch } from './watch.js'

/** How to process items: several in one statement (`together`), or one `alone`. */
export interface BatchWork<Item, Result> {
  /**
   * Processes several items in one statement. Returns the result of each item, in order, or `undefined` for an item
   * that must be processed alone. A `ServiceError` rejects all items, unless the statement was abandoned. Any other
   * error means that nothing was done, so that each item is processed alone.
   */
  together(items: readonly Item[], shared: SharedStatement): Promise<readonly (Result | undefined)[]>
  alone(item: Item, caller: WorkCaller): Promise<Result>
  /** Creates the error for a caller that stops waiting while the statement runs. */
  readonly leaving: Leaving
  /** The maximum number of items in one statement. Default: 32. */
  readonly most?: number
}

/**
 * Processes an item, in one statement with other items that arrive in the same turn of the event loop or while
 * earlier statements run.
 */
export type Batch<Item, Result> = (item: Item, caller: WorkCaller) => Promise<Result>

/** A queued item, and its caller. */
interface Member<Item, Result> {
  readonly item: Item
  readonly caller: WorkCaller
  readonly resolve: (result: Result | Promise<Result>) => void
  readonly reject: (thrown: unknown) => void
}

/** The default of `BatchWork.most`. */
const MOST_TOGETHER = 32

/** The maximum number of statements that run at the same time. Slow statements do not count. */
const MOST_UNDER_WAY = 4

/** Creates a batch. */
export function createBatch<Item, Result>(
  watch: Watch,
  { together, alone, leaving, most = MOST_TOGETHER }: BatchWork<Item, Result>,
): Batch<Item, Result> {
  const waiting = new FairQueue<Member<Item, Result>>(MAX_WAITING)
  let underWay = 0
  let isDue = false

  const doAlone = ({ item, caller, resolve }: Member<Item, Result>): Promise<unknown> => {
    const doing = alone(item, caller)
    resolve(doing)
    return doing
  }
  const doTogether = async (
    members: readonly Member<Item, Result>[],
    shared: SharedStatement,
  ): Promise<void> => {
    let results: readonly (Result | undefined)[] = []
    try {
      results = await together(
        members.map(({ item }) => item),
        shared,
      )
    } catch (thrown) {
      if (thrown instanceof ServiceError && !shared.isAbandoned) {
        for (const { reject } of members) reject(thrown)
        return
      }
    }
    for (const [i, member] of members.entries()) {
      const result = results[i]
      if (result !== undefined) member.resolve(result)
      else if (!shared.hasLeft(member)) void doAlone(member)
    }
  }
  const run = (members: readonly Member<Item, Result>[]): void => {
    const [only] = members
    const shared = new SharedStatement(members, leaving)
    let isCounted = true
    underWay += 1
    const discount = (): void => {
      if (isCounted) underWay -= 1
      isCounted = false
      begin()
    }
    const slow = {
      onLongWait(): void {
        shared.listen()
        discount()
      },
    }
    const end = (): void => {
      watch.delete(slow)
      shared.end()
      discount()
    }
    watch.add(slow)
    const doing = only && members.length === 1 ? doAlone(only) : doTogether(members, shared)
    doing.then(end, end)
  }
  const begin = (): void => {
    while (waiting.length > 0 && underWay < MOST_UNDER_WAY) {
      run(Array.from({ length: Math.min(most, waiting.length) }).flatMap(() => waiting.take() ?? []))
    }
  }
  const beginDue = (): void => {
    isDue = false
    begin()
  }

  return (item, caller) =>
    new Promise((resolve, reject) => {
      waiting.add({ item, caller, resolve, reject }, caller.caller)?.reject(overloaded())
      if (isDue) return
      isDue = true
      atEndOfTurn(beginDue)
    })
}

// Captured when this module loads, so that the fake timers of a test do not stop it.
const atEndOfTurn = setImmediate
