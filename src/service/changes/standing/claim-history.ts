import type { Filter } from '../../../filter/filter.js'
import type { ClaimValues } from '../../../query/variable.js'
import { runSliced, type Slice, type Sliced } from '../../../slices.js'
import type { Change } from '../../../storage.js'
import { gather, MAX_CLAIMED, type Oldest, readOldest } from '../../claims.js'
import { timeOf } from '../judge-changes.js'
import { PAGE } from '../log-reader.js'
import { findTouches, type Sources, type Touch, type WatchedClaim } from './watched-claims.js'

/** What a part of the log did to the documents of a claim. */
export interface Touched {
  readonly touches: readonly Touch[]
  /** The part; only of a claim that depends on the time is it needed. */
  readonly changes: readonly Change[]
  /** Where the log goes on. */
  readonly position: string
}

/** Finds what changes did to the documents of a claim, each as of its time. */
export async function touchesOf(
  { service }: Pick<Sources, 'service'>,
  watched: WatchedClaim,
  changes: readonly Change[],
): Promise<readonly Touch[]> {
  const mine = changes.filter((change) => change.in === watched.claim.from)
  const parts = watched.isTimed ? mine.map((change) => [change]) : [mine]
  const found: Touch[] = []
  for (const part of parts) {
    const filter = part[0] && watched.filterAt(timeOf(part[0], service))
    found.push(...(await runSliced((slice) => findTouches(watched, filter, part, slice))))
  }
  return found
}

/**
 * Whether a claim was another one behind some write of a part of the log, though it is now what it was. It is
 * found from the documents as they are, by taking back write by write what was written since.
 */
export async function wasAnother(
  sources: Sources,
  watched: WatchedClaim,
  { touches, changes, position }: Touched,
): Promise<boolean> {
  if (!watched.isTimed) {
    const isOther: IsOther = (values, isBefore) => !isBefore && !isSame(values, watched.values)
    const all = { touches, counted: touches.length, position }
    return lookBack(sources, watched, { ...all, filter: watched.filterAt('') }, isOther)
  }
  // What the time alone has changed does not count: a write is judged by what was there before it.
  for (const write of new Set(touches.map((touch) => touch.write))) {
    const behind = changes.slice(changes.findIndex((change) => change.write === write))
    const filter = behind[0] && watched.filterAt(timeOf(behind[0], sources.service))
    const since = await runSliced((slice) => findTouches(watched, filter, behind, slice))
    const counted = since.filter((touch) => touch.write === write).length
    let after: ClaimValues | undefined
    const isOther: IsOther = (values) => {
      after ??= values
      return !isSame(values, after)
    }
    if (await lookBack(sources, watched, { touches: since, counted, position, filter }, isOther)) return true
  }
  return false
}

/** Judges what a claim was behind a write, or before the first of those that count. */
type IsOther = (values: ClaimValues, isBefore: boolean) => boolean

interface History extends Omit<Touched, 'changes'> {
  readonly filter: Filter | undefined
  /** How many of the touches, the first ones, are of writes that count. */
  readonly counted: number
}

/** So many more documents are read than count: meanwhile some of them may be written. */
const SPARE = 100

/** Reads the documents as they are, and what was done to them since. */
async function lookBack(
  sources: Sources,
  watched: WatchedClaim,
  { filter, touches, counted, position }: History,
  isOther: IsOther,
): Promise<boolean> {
  if (!filter || counted === 0) return false
  const reader = sources.store.own(watched.claim.from)
  for (let spare = SPARE; ; spare *= 10) {
    const most = MAX_CLAIMED + touches.length + spare
    const oldest = await readOldest({ reader, claim: watched.claim, filter, most })
    // Read behind the documents: whatever was written before that is in it.
    const since = await readSince(sources, watched, filter, position)
    if (!since) return true
    // Of those that nothing has touched, as many are known as count.
    if (oldest.isAll || since.length <= spare)
      return runSliced((slice) => takeBack(oldest, [...touches, ...since], { counted, isOther }, slice))
  }
}

/** What was done to the documents behind a place of the log; `undefined` where that is not known any more. */
async function readSince(
  { log }: Sources,
  watched: WatchedClaim,
  filter: Filter,
  position: string,
): Promise<readonly Touch[] | undefined> {
  const touches: Touch[] = []
  for (let [after, more] = [position, true]; more; ) {
    const page = await log(after, PAGE)
    if (page.gap) return undefined
    touches.push(...(await runSliced((slice) => findTouches(watched, filter, page.changes, slice))))
    ;({ position: after, more } = page)
  }
  return touches
}

/** Whether what a claim was is another in one of the states, from the last to the first. */
function* takeBack(
  { claimed, isAll }: Oldest,
  touches: readonly Touch[],
  { counted, isOther }: { readonly counted: number; readonly isOther: IsOther },
  slice: Slice,
): Sliced<boolean> {
  const present = new Map(claimed.map((one) => [one.id, one]))
  const values = (): ClaimValues => {
    slice.left -= present.size
    return gather([...present.values()], isAll && present.size <= MAX_CLAIMED)
  }
  for (let i = touches.length - 1; i >= 0; i--) {
    if (slice.left <= 0) yield
    const touch = touches[i]
    if (!touch) continue
    const { write, id, before } = touch
    // Between two changes of one write, nothing was ever so.
    if (i < counted && touches[i + 1]?.write !== write && isOther(values(), false)) return true
    if (before) present.set(id, before)
    else present.delete(id)
    slice.left -= 1
  }
  return isOther(values(), true)
}

/** Whether two readings of a claim mean the same in rules, whatever the ages of its documents. */
const isSame = (one: ClaimValues, other: ClaimValues | undefined): boolean => {
  if (!other || one.isWhole !== other.isWhole || one.values.length !== other.values.length) return false
  const values = new Set(other.values)
  return one.values.every((value) => values.has(value))
}
