import { type Claimed, claimFrom, gather, MAX_CLAIMED, type Oldest, readOldest } from '../../claims/claims.js'
import type { Filter } from '../../filter/filter.js'
import { compileJudge, type Judge, judgeSliced } from '../../filter/matches.js'
import { whenReady } from '../../promises.js'
import type { ClaimValues } from '../../query/variable.js'
import { forEachSliced, inSlices, type Sliced } from '../../slices.js'
import type { Change, ChangePage, StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { timeOf } from '../judge-changes.js'
import { pageOfLog } from '../log/log-reader.js'
import type { AskedClaim, Sources, WatchedClaim } from './watched-claims.js'

/** The effect of a write on one document of a claim. */
export interface ClaimChange {
  readonly write: number
  readonly id: string
  readonly before: Claimed | undefined
  readonly after: Claimed | undefined
}

/** Finds the changes that may change the value of a claim: those that change a value, or the order of the values. */
export const findTouches: Sliced<
  [asked: Pick<AskedClaim, 'claim'>, filter: Filter | undefined, changes: readonly Change[]],
  readonly ClaimChange[]
> = ({ claim }, filter, changes, slices) => {
  const touches: ClaimChange[] = []
  if (!filter) return touches
  const read = claimFrom(claim)
  let judge: Judge | undefined
  const see = (document: StoredDocument | null): MaybePromise<Claimed | undefined> => {
    if (document === null) return undefined
    judge ??= compileJudge(filter)
    return whenReady(judgeSliced(judge, document, slices), (isThere) =>
      isThere ? read(document) : undefined,
    )
  }
  const finding = forEachSliced(slices, changes, (change) => {
    slices.left -= 1
    if (change.in !== claim.from) return undefined
    return whenReady(see(change.before), (before) =>
      whenReady(see(change.after), (after) => {
        if (before?.value === after?.value && before?.createdAt === after?.createdAt) return
        touches.push({ write: change.write, id: change.id, before, after })
      }),
    )
  })
  return whenReady(finding, () => touches)
}

/** A period in which a claim was read from the same documents, and all changes of these documents since it began. */
interface ClaimPeriod {
  readonly asked: AskedClaim
  /** The write that began the period by changing the caller; `undefined` for the first period. */
  readonly write: number | undefined
  readonly touches: ClaimChange[]
  /**
   * The number of `touches` that happened within the period; `undefined` while the period lasts. The other touches came
   * later, and are undone to compute the values in the period.
   */
  counted: number | undefined
}

/** The maximum number of periods of a claim in a part of the log: each is evaluated separately. */
export const MAX_ERAS = 8

/** The requests for the documents of a caller's claims after a write of the user document. */
export interface ClaimsAtWrite {
  readonly write: number
  readonly claims: readonly AskedClaim[]
}

/** The moment before the first write of a part of the log, or after its last write. */
export type Edge = 'start' | 'end'

/** The past of a claim in a part of the log. */
export type PastClaim = Pick<ClaimHistory, 'isTouched' | 'read' | 'wasAnother' | 'at'>

/**
 * The values of a claim after a write, or before the first write (`undefined`). The values are `undefined` if the caller
 * lacked the claim.
 */
export interface ClaimState {
  readonly write: number | undefined
  readonly values: ClaimValues | undefined
}

/** The past requests for the documents of a claim, and the changes of these documents in a part of the log. */
export class ClaimHistory {
  readonly #watched: WatchedClaim
  readonly #eras: ClaimPeriod[]
  /** The changes in the collection of the claim. Only recorded for a claim that depends on the time. */
  readonly #changes: Change[] = []
  #position = ''

  constructor(watched: WatchedClaim) {
    this.#watched = watched
    this.#eras = [{ asked: watched, write: undefined, touches: [], counted: undefined }]
  }

  /** Whether the changes that were read may have changed the value of the claim. */
  get isTouched(): boolean {
    return this.#eras.some(({ write, touches }) => write !== undefined || touches.length > 0)
  }

  /**
   * Reviews the next part of the log. `askings` are the requests for the documents of the caller's claims after writes
   * of the user document.
   */
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
   * Whether the claim had another value after some write that was reviewed, even if it has the known value again.
   * Computes past values from the current documents, by undoing later writes one by one. Also returns true if the
   * request for the documents changed too often.
   */
  async wasAnother(sources: Sources): Promise<boolean> {
    if (this.#isTooOften) return true
    const { values } = this.#watched
    if (this.#watched.isTimed) return this.#wasAnotherInTime(sources)
    for (const { asked, write, touches, counted = touches.length } of this.#eras) {
      const filter = await asked.filterAt('')
      if (!filter && values) return true
      // The known values may have been read after the touches, so the state before the touches is compared too.
      const countsBefore = touches[0]?.write !== write
      const isOther: IsOther = (past, at) => (at !== undefined || countsBefore) && !isSame(past, values)
      const history = { touches, counted, position: this.#position, filter, countsBefore }
      if (await lookBack(sources, asked, history, isOther)) return true
    }
    return false
  }

  /** Returns the claim with the values that its bases had at an edge of the part of the log. It has no bases. */
  at(_edge: Edge): WatchedClaim {
    return this.#watched
  }

  /**
   * Returns the values of the claim before the first write that was reviewed, and after each later one that may have
   * changed them; `undefined` if they are unknown, or if the request for the documents changed too often.
   */
  async states(sources: Sources): Promise<readonly ClaimState[] | undefined> {
    if (this.#isTooOften) return undefined
    const states: ClaimState[] = []
    for (const { asked, write, touches, counted = touches.length } of this.#eras) {
      const filter = await asked.filterAt('')
      const countsBefore = touches[0] === undefined || touches[0].write !== write
      const found: ClaimState[] = filter ? [] : [{ write, values: undefined }]
      const note: IsOther = (values, at) => {
        if (at !== undefined || countsBefore) found.push({ write: at ?? write, values })
        return false
      }
      const history = { touches, counted, position: this.#position, filter, countsBefore }
      if (await lookBack(sources, asked, history, note)) return undefined
      states.push(...found.reverse())
    }
    return states
  }

  /**
   * Like `wasAnother`, for a claim that depends on the time. The passing of time is no change, so each write is compared with the
   * state right before it.
   */
  async #wasAnotherInTime(sources: Sources): Promise<boolean> {
    const [watched, position] = [this.#watched, this.#position]
    for (const write of new Set(this.#eras.flatMap(({ touches }) => touches.map((touch) => touch.write)))) {
      const behind = this.#changes.slice(this.#changes.findIndex((change) => change.write === write))
      const filter = behind[0] && (await watched.filterAt(timeOf(behind[0], sources.service)))
      const touches = await inSlices((slices) => findTouches(watched, filter, behind, slices))
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

/**
 * Finds the changes that affect the documents of a claim. A claim that depends on the time is evaluated at the time of
 * each change.
 */
async function touchesOf(
  { service }: Pick<Sources, 'service'>,
  watched: AskedClaim,
  changes: readonly Change[],
): Promise<readonly ClaimChange[]> {
  const mine = changes.filter((change) => change.in === watched.claim.from)
  const parts = watched.isTimed ? mine.map((change) => [change]) : [mine]
  const found: ClaimChange[] = []
  for (const part of parts) {
    const filter = part[0] && (await watched.filterAt(timeOf(part[0], service)))
    found.push(...(await inSlices((slices) => findTouches(watched, filter, part, slices))))
  }
  return found
}

/**
 * Whether these values of a claim count as another value. They are the values after the write `at`, or before the first
 * write if that is `undefined`.
 */
type IsOther = (values: ClaimValues, at: number | undefined) => boolean

interface History {
  readonly filter: Filter | undefined
  readonly touches: readonly ClaimChange[]
  /** The number of `touches` whose states are compared. The later touches are only undone. */
  readonly counted: number
  /** Whether the state before all touches is compared too. */
  readonly countsBefore: boolean
  /** The position in the log after the touches. */
  readonly position: string
}

/** The number of documents that are read beyond the needed ones, because some may be written during the read. */
const SPARE = 100

/**
 * Reads the current documents and their changes after `position`, and tests the past states of the claim with
 * `isOther`.
 */
export async function lookBack(
  sources: Sources,
  watched: Pick<AskedClaim, 'claim'>,
  { filter, touches, counted, position, countsBefore }: History,
  isOther: IsOther,
): Promise<boolean> {
  if (!filter || (counted === 0 && !countsBefore)) return false
  const reader = sources.store.own(watched.claim.from)
  for (let spare = SPARE; ; spare *= 10) {
    const most = MAX_CLAIMED + touches.length + spare
    const oldest = await readOldest(reader, watched.claim, filter, most)
    // The log is read after the documents, so `since` contains every later write that they contain.
    const since = await readSince(sources, watched, filter, position)
    if (!since) return true
    // At most `spare` of the documents have changed, so enough of those that did not change are known.
    if (oldest.isAll || since.length <= spare)
      return inSlices((slices) => takeBack(oldest, [...touches, ...since], { counted, isOther }, slices))
  }
}

/** The changes of the documents after a position in the log; `undefined` if they are no longer retained. */
async function readSince(
  { log }: Sources,
  watched: Pick<AskedClaim, 'claim'>,
  filter: Filter,
  position: string,
): Promise<readonly ClaimChange[] | undefined> {
  const touches: ClaimChange[] = []
  for (let [after, more] = [position, true]; more; ) {
    const page = await log(after, pageOfLog())
    if (page.gap) return undefined
    touches.push(...(await inSlices((slices) => findTouches(watched, filter, page.changes, slices))))
    ;({ position: after, more } = page)
  }
  return touches
}

/** Undoes the touches, from last to first. Returns whether `isOther` is true for one of the states in between. */
const takeBack: Sliced<
  [
    oldest: Oldest,
    touches: readonly ClaimChange[],
    states: { readonly counted: number; readonly isOther: IsOther },
  ],
  boolean
> = async ({ claimed, isAll }, touches, { counted, isOther }, slices) => {
  const present = new Map(claimed.map((one) => [one.id, one]))
  const values = (): ClaimValues => {
    slices.left -= present.size
    return gather([...present.values()], isAll && present.size <= MAX_CLAIMED)
  }
  for (let i = touches.length - 1; i >= 0; i--) {
    if (slices.left <= 0) await slices.next()
    const touch = touches[i]
    if (!touch) continue
    const { write, id, before } = touch
    // No state is visible between two changes of one write.
    if (i < counted && touches[i + 1]?.write !== write && isOther(values(), write)) return true
    if (before) present.set(id, before)
    else present.delete(id)
    slices.left -= 1
  }
  return isOther(values(), undefined)
}

/** Whether two values of a claim mean the same in rules, independent of the order of its documents. */
export const isSame = (one: ClaimValues | undefined, other: ClaimValues | undefined): boolean => {
  if (!one || !other) return one === other
  if (one.isWhole !== other.isWhole || one.values.length !== other.values.length) return false
  const values = new Set(other.values)
  return one.values.every((value) => values.has(value))
}
