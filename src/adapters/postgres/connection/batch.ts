import { ServiceError } from '../../../errors.js'
import { overloaded } from '../faults.js'
import type { Caller } from './connections.js'
import { Crowd } from './crowd.js'
import { MAX_WAITING } from './queue.js'
import type { Watch } from './watch.js'

/** How items are done. */
export interface Work<Item, Result> {
  /**
   * Does several items in one statement. Gives the result of each, in their order; `undefined` for one that
   * must be done alone. A `ServiceError` is the answer to all of them; any other error says that nothing was
   * done.
   */
  together(items: readonly Item[], caller: Caller): Promise<readonly (Result | undefined)[]>
  alone(item: Item, caller: Caller): Promise<Result>
  /** The error for one who leaves while it is done. */
  leaving(cause: unknown): ServiceError
  /** The most items that are done together. Default: 32. */
  readonly most?: number
  /** Whether what takes very long together is given up, and done alone: one of them keeps no others waiting. */
  readonly isImpatient?: boolean
}

/** Does an item with others that arrive in the same turn of the event loop, or while some are under way. */
export type Batch<Item, Result> = (item: Item, caller: Caller) => Promise<Result>

/** An item, and who waits for it. */
interface Member<Item, Result> {
  readonly item: Item
  readonly caller: Caller
  readonly resolve: (result: Result | Promise<Result>) => void
  readonly reject: (thrown: unknown) => void
}

/** The most items that are done together, where their work does not say. */
const MOST_TOGETHER = 32

/** After so many long waits, half a second in all, what is impatient is given up. */
const MOST_WAITS = 3

/** How many statements are under way at once, not counting those that take long. */
const MOST_UNDER_WAY = 4

/** Creates a batch. */
export function createBatch<Item, Result>(
  watch: Watch,
  { together, alone, leaving, most = MOST_TOGETHER, isImpatient = false }: Work<Item, Result>,
): Batch<Item, Result> {
  let waiting: Member<Item, Result>[] = []
  let underWay = 0
  let isDue = false

  const doAlone = ({ item, caller, resolve }: Member<Item, Result>): Promise<unknown> => {
    const doing = alone(item, caller)
    resolve(doing)
    return doing
  }
  const doTogether = async (members: readonly Member<Item, Result>[], crowd: Crowd): Promise<void> => {
    let results: readonly (Result | undefined)[] = []
    try {
      results = await together(
        members.map(({ item }) => item),
        crowd,
      )
    } catch (thrown) {
      if (thrown instanceof ServiceError && !crowd.isDisbanded) {
        for (const { reject } of members) reject(thrown)
        return
      }
    }
    for (const [i, member] of members.entries()) {
      const result = results[i]
      if (result !== undefined) member.resolve(result)
      else if (!crowd.hasLeft(member)) void doAlone(member)
    }
  }
  const run = (members: readonly Member<Item, Result>[]): void => {
    const [only] = members
    const crowd = new Crowd(members, leaving)
    let isCounted = true
    underWay += 1
    const discount = (): void => {
      if (isCounted) underWay -= 1
      isCounted = false
      begin()
    }
    let waits = 0
    const slow = {
      onLongWait(): void {
        waits += 1
        if (waits === 1) {
          crowd.listen()
          discount()
        }
        if (isImpatient && waits === MOST_WAITS) crowd.disband()
        else if (isImpatient) watch.add(slow)
      },
    }
    const end = (): void => {
      watch.delete(slow)
      crowd.end()
      discount()
    }
    watch.add(slow)
    const doing = only && members.length === 1 ? doAlone(only) : doTogether(members, crowd)
    doing.then(end, end)
  }
  const begin = (): void => {
    while (waiting.length > 0 && underWay < MOST_UNDER_WAY) {
      const members = waiting.slice(0, most)
      waiting = waiting.slice(most)
      run(members)
    }
  }
  const beginDue = (): void => {
    isDue = false
    begin()
  }

  return (item, caller) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MAX_WAITING) throw overloaded()
      waiting.push({ item, caller, resolve, reject })
      if (isDue) return
      isDue = true
      atEndOfTurn(beginDue)
    })
}

/** Creates a batch for each collection, when it is first asked for. */
export function createBatches<Item, Result>(
  watch: Watch,
  workOf: (collection: string) => Work<Item, Result>,
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
