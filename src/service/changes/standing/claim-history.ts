import type { Filter } from '../../../filter/filter.js'
import type { ClaimValues } from '../../../query/variable.js'
import { runSliced, type Slice, type Sliced } from '../../../slices.js'
import type { Change, ChangePage } from '../../../storage.js'
import { gather, MAX_CLAIMED, type Oldest, readOldest } from '../../claims.js'
import { timeOf } from '../judge-changes.js'
import { pageOfLog } from '../log/log-reader.js'
import {
  type AskedClaim,
  type ClaimChange,
  findTouches,
  type Sources,
  type WatchedClaim,
} from './watched-claims.js'

/** What a claim asked for behind some write, and what was done to those documents since. */
interface ClaimPeriod {
  readonly asked: AskedClaim
  /** The write that began it, by changing the caller; `undefined` for what was asked before. */
  readonly write: number | undefined
  readonly touches: ClaimChange[]
  /** How many of the touches, the first ones, are of its own time; `undefined` while it lasts. */
  counted: number | undefined
}

/** So many changes of what a claim asks for are followed in a part of the log: each is judged for itself. */
const MAX_ERAS = 8

/** What claims ask for behind a write of their caller's document. */
export interface ClaimsAtWrite {
  readonly write: number
  readonly claims: readonly AskedClaim[]
}

/** What a claim asks for, and what a part of the log did to those documents. */
export class ClaimHistory {
  readonly #watched: WatchedClaim
  readonly #eras: ClaimPeriod[]
  /** The changes of such documents, of a claim that depends on the time. */
  readonly #changes: Change[] = []
  #position = ''

  constructor(watched: WatchedClaim) {
    this.#watched = watched
    this.#eras = [{ asked: watched, write: undefined, touches: [], counted: undefined }]
  }

  /** Whether the claim may be another one by what was read. */
  get isTouched(): boolean {
    return this.#eras.some(({ write, touches }) => write !== undefined || touches.length > 0)
  }

  /** Reads on in the log, with what the caller's claims ask for from some writes on. */
  async read(
    sources: Pick<Sources, 'service'>,
    { changes, position }: Pick<ChangePage, 'changes' | 'position'>,
    askings: readonly ClaimsAtWrite[],
  ): Promise<void> {
    let from = 0
    for (const { write, claims } of askings) {
      if (this.#isTooOften) return
      const last = this.#eras.at(-1)
      const asked = claims.find(({ claim }) => claim === this.#watched.claim)
      if (!last || !asked || asked.asked === last.asked.asked) continue
      const at = changes.findIndex((change) => change.write === write)
      await this.#touch(sources, changes.slice(from, at))
      last.counted = last.touches.length
      this.#eras.push({ asked, write, touches: [], counted: undefined })
      from = at
    }
    if (this.#isTooOften) return
    await this.#touch(sources, changes.slice(from))
    if (this.#watched.isTimed)
      for (const change of changes) if (change.in === this.#watched.claim.from) this.#changes.push(change)
    this.#position = position
  }

  get #isTooOften(): boolean {
    return this.#eras.length > MAX_ERAS
  }

  async #touch(sources: Pick<Sources, 'service'>, changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return
    for (const { asked, touches } of this.#eras) touches.push(...(await touchesOf(sources, asked, changes)))
  }

  /**
   * Whether the claim was another one behind some write of what was read, though it is now what it was. It is found
   * from the documents as they are, by taking back write by write what was written since. Where it asked for too many things in
   * turn, it counts as another one.
   */
  async wasAnother(sources: Sources): Promise<boolean> {
    if (this.#isTooOften) return true
    const { values } = this.#watched
    if (this.#watched.isTimed) return this.#wasAnotherInTime(sources)
    for (const { asked, write, touches, counted = touches.length } of this.#eras) {
      const filter = asked.filterAt('')
      if (!filter && values) return true
      // What is known of it may have been read behind the touches, so what it was before them counts, too.
      const countsBefore = touches[0]?.write !== write
      const isOther: IsOther = (past, isBefore) => (!isBefore || countsBefore) && !isSame(past, values)
      const history = { touches, counted, position: this.#position, filter, countsBefore }
      if (await lookBack(sources, asked, history, isOther)) return true
    }
    return false
  }

  /** What the time alone has changed does not count: a write is judged by what was there before it. */
  async #wasAnotherInTime(sources: Sources): Promise<boolean> {
    const [watched, position] = [this.#watched, this.#position]
    for (const write of new Set(this.#eras.flatMap(({ touches }) => touches.map((touch) => touch.write)))) {
      const behind = this.#changes.slice(this.#changes.findIndex((change) => change.write === write))
      const filter = behind[0] && watched.filterAt(timeOf(behind[0], sources.service))
      const touches = await runSliced((slice) => findTouches(watched, filter, behind, slice))
      const counted = touches.filter((touch) => touch.write === write).length
      let after: ClaimValues | undefined
      const isOther: IsOther = (values) => {
        after ??= values
        return !isSame(values, after)
      }
      const history = { touches, counted, position, filter, countsBefore: false }
      if (await lookBack(sources, watched, history, isOther)) return true
    }
    return false
  }
}

/** Finds what changes did to the documents of a claim, each as of its time. */
async function touchesOf(
  { service }: Pick<Sources, 'service'>,
  watched: AskedClaim,
  changes: readonly Change[],
): Promise<readonly ClaimChange[]> {
  const mine = changes.filter((change) => change.in === watched.claim.from)
  const parts = watched.isTimed ? mine.map((change) => [change]) : [mine]
  const found: ClaimChange[] = []
  for (const part of parts) {
    const filter = part[0] && watched.filterAt(timeOf(part[0], service))
    found.push(...(await runSliced((slice) => findTouches(watched, filter, part, slice))))
  }
  return found
}

/** Judges what a claim was behind a write, or before the first of those that count. */
type IsOther = (values: ClaimValues, isBefore: boolean) => boolean

interface History {
  readonly filter: Filter | undefined
  readonly touches: readonly ClaimChange[]
  /** How many of the touches, the first ones, are of writes that count. */
  readonly counted: number
  /** Whether what was there before all of them counts. */
  readonly countsBefore: boolean
  /** Where the log goes on behind the touches. */
  readonly position: string
}

/** So many more documents are read than count: meanwhile some of them may be written. */
const SPARE = 100

/** Reads the documents as they are, and what was done to them since. */
async function lookBack(
  sources: Sources,
  watched: AskedClaim,
  { filter, touches, counted, position, countsBefore }: History,
  isOther: IsOther,
): Promise<boolean> {
  if (!filter || (counted === 0 && !countsBefore)) return false
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
  watched: AskedClaim,
  filter: Filter,
  position: string,
): Promise<readonly ClaimChange[] | undefined> {
  const touches: ClaimChange[] = []
  for (let [after, more] = [position, true]; more; ) {
    const page = await log(after, pageOfLog())
    if (page.gap) return undefined
    touches.push(...(await runSliced((slice) => findTouches(watched, filter, page.changes, slice))))
    ;({ position: after, more } = page)
  }
  return touches
}

/** Whether what a claim was is another in one of the states, from the last to the first. */
function* takeBack(
  { claimed, isAll }: Oldest,
  touches: readonly ClaimChange[],
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
