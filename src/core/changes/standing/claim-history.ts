import { gather, MAX_CLAIMED, type Oldest, readOldest } from '../../claims/claims.js'
import type { Filter } from '../../filter/filter.js'
import type { ClaimValues } from '../../query/variable.js'
import { runSliced, type Slice, type Sliced } from '../../slices.js'
import type { Change, ChangePage } from '../../storage.js'
import { timeOf } from '../judge-changes.js'
import { pageOfLog } from '../log/log-reader.js'
import {
  type AskedClaim,
  type ClaimChange,
  findTouches,
  type Sources,
  type WatchedClaim,
} from './watched-claims.js'

/** A period in which a claim read the same documents, and the changes to those documents since. */
interface ClaimPeriod {
  readonly asked: AskedClaim
  /** The write that began it, by changing the caller; `undefined` for the first period. */
  readonly write: number | undefined
  readonly touches: ClaimChange[]
  /** The number of leading touches within the period itself; `undefined` while it lasts. */
  counted: number | undefined
}

/** The most changes of a claim's request that are followed in a part of the log: each is evaluated separately. */
const MAX_ERAS = 8

/** The requests of claims after a write of their caller's document. */
export interface ClaimsAtWrite {
  readonly write: number
  readonly claims: readonly AskedClaim[]
}

/** The requests of a claim over time, and the changes of a part of the log to the requested documents. */
export class ClaimHistory {
  readonly #watched: WatchedClaim
  readonly #eras: ClaimPeriod[]
  /** The changes of requested documents; only for a claim that depends on the time. */
  readonly #changes: Change[] = []
  #position = ''

  constructor(watched: WatchedClaim) {
    this.#watched = watched
    this.#eras = [{ asked: watched, write: undefined, touches: [], counted: undefined }]
  }

  /** Whether the value of the claim may have changed by what was read. */
  get isTouched(): boolean {
    return this.#eras.some(({ write, touches }) => write !== undefined || touches.length > 0)
  }

  /** Reads on in the log, with the requests of the caller's claims after some writes. */
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
   * Whether the value of the claim differed after some write of what was read, even if it is now the same. Past values
   * are computed from the current documents, by undoing later writes one by one. If the request changed too often, the
   * claim counts as changed.
   */
  async wasAnother(sources: Sources): Promise<boolean> {
    if (this.#isTooOften) return true
    const { values } = this.#watched
    if (this.#watched.isTimed) return this.#wasAnotherInTime(sources)
    for (const { asked, write, touches, counted = touches.length } of this.#eras) {
      const filter = asked.filterAt('')
      if (!filter && values) return true
      // The known values may have been read after the touches, so the state before them counts, too.
      const countsBefore = touches[0]?.write !== write
      const isOther: IsOther = (past, isBefore) => (!isBefore || countsBefore) && !isSame(past, values)
      const history = { touches, counted, position: this.#position, filter, countsBefore }
      if (await lookBack(sources, asked, history, isOther)) return true
    }
    return false
  }

  /** A change by time alone does not count: a write is compared with the state right before it. */
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

/** Finds the effects of changes on the documents of a claim, each as of its time. */
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

/** Decides on the values of a claim after a write, or before the first of those that count. */
type IsOther = (values: ClaimValues, isBefore: boolean) => boolean

interface History {
  readonly filter: Filter | undefined
  readonly touches: readonly ClaimChange[]
  /** The number of leading touches of writes that count. */
  readonly counted: number
  /** Whether the state before all of them counts. */
  readonly countsBefore: boolean
  /** The position in the log after the touches. */
  readonly position: string
}

/** The number of documents read beyond those that count: some of them may be written meanwhile. */
const SPARE = 100

/** Reads the current documents, and the changes to them since. */
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
    // Read after the documents: it contains every write before that.
    const since = await readSince(sources, watched, filter, position)
    if (!since) return true
    // Enough of the untouched documents are known.
    if (oldest.isAll || since.length <= spare)
      return runSliced((slice) => takeBack(oldest, [...touches, ...since], { counted, isOther }, slice))
  }
}

/** The changes to the documents after a position of the log; `undefined` if that is no longer retained. */
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

/** Whether the values of a claim differ in one of the states, from the last to the first. */
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
    // Between two changes of one write there is no visible state.
    if (i < counted && touches[i + 1]?.write !== write && isOther(values(), false)) return true
    if (before) present.set(id, before)
    else present.delete(id)
    slice.left -= 1
  }
  return isOther(values(), true)
}

/** Whether two values of a claim mean the same in rules, independent of the order of its documents. */
const isSame = (one: ClaimValues, other: ClaimValues | undefined): boolean => {
  if (!other || one.isWhole !== other.isWhole || one.values.length !== other.values.length) return false
  const values = new Set(other.values)
  return one.values.every((value) => values.has(value))
}
