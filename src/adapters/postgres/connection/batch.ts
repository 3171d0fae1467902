import { ServiceError } from '../../../errors.js'
import { FairQueue } from '../../../fair-queue.js'
import { overloaded } from '../faults.js'
import type { WorkCaller } from './connections.js'
import { MAX_WAITING } from './queue.js'
import { type Leaving, SharedStatement } from './shared-statement.js'
import type { Watch } from './watch.js'

/** How items are done. */
export interface BatchWork<Item, Result> {
  /**
   * Does several items in one statement. Gives the result of each, in their order; `undefined` for one that
   * must be done alone. A `ServiceError` is the answer to all of them, unless it was abandoned; any other error says
   * that nothing was done.
   */
  together(items: readonly Item[], shared: SharedStatement): Promise<readonly (Result | undefined)[]>
  alone(item: Item, caller: WorkCaller): Promise<Result>
  /** The error for one who leaves while it is done. */
  readonly leaving: Leaving
  /** The most items that are done together. Default: 32. */
  readonly most?: number
}

/** Does an item with others that arrive in the same turn of the event loop, or while some are under way. */
export type Batch<Item, Result> = (item: Item, caller: WorkCaller) => Promise<Result>

/** An item, and who waits for it. */
interface Member<Item, Result> {
  readonly item: Item
  readonly caller: WorkCaller
  readonly resolve: (result: Result | Promise<Result>) => void
  readonly reject: (thrown: unknown) => void
}

/** The most items that are done together, where their work does not say. */
const MOST_TOGETHER = 32

/** How many statements are under way at once, not counting those that take long. */
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

/** Creates a batch for each collection, when it is first asked for. */
export function createBatches<Item, Result>(
  watch: Watch,
  workOf: (collection: string) => BatchWork<Item, Result>,
): (collection: string) => Batch<Item, Result> {
  const batches = new Map<string, Batch<Item, Result>>()
  return (collection) => {
    const known = batches.get(collection)
    if (known) return known
    const batch = createBatch(watch, workOf(collection))
    batches.set(collection, batch)
    return batch
  }
}

// Read at start: a fake clock of a test must not stop what others wait for.
const atEndOfTurn = setImmediate
