import type { KnownCaller } from '../../permissions/caller.js'
import { inSlices } from '../../slices.js'
import type { Change, ChangePage } from '../../storage.js'
import {
  ClaimHistory,
  type ClaimState,
  type ClaimsAtWrite,
  type Edge,
  findTouches,
  isSame,
  lookBack,
  MAX_ERAS,
  type PastClaim,
} from './claim-history.js'
import { type AskedClaim, filterOver, holdClaims, type Sources, type WatchedClaim } from './watched-claims.js'

/** A period in which a claim had the same request, and its bases the same values. It begins with the write at `from`. */
interface BasedPeriod {
  readonly from: number
  readonly write: number | undefined
  readonly asked: AskedClaim
  readonly bases: readonly WatchedClaim[]
}

/**
 * The past of a claim that uses claims. While their values are the known ones, it is that of any claim. If they changed,
 * each of their values makes another request for the documents of the claim.
 */
class ClaimOverHistory implements PastClaim {
  readonly #watched: WatchedClaim
  readonly #bases: readonly ClaimHistory[]
  /** The past with the known values of the bases. */
  readonly #own: ClaimHistory
  /** The changes in the collection of the claim. */
  readonly #changes: Change[] = []
  /** The requests of the caller after changes of the user document. */
  readonly #askings: { readonly write: number; readonly asked: AskedClaim }[] = []
  /** The writes in the order of the log. */
  readonly #places = new Map<number, number>()
  #position = ''
  #periods: readonly BasedPeriod[] = []

  constructor(sources: Sources, caller: KnownCaller | null, watched: WatchedClaim) {
    this.#watched = watched
    this.#bases = watched.bases.map((base) => new ClaimHistory(base))
    this.#own = new ClaimHistory({ ...watched, filterAt: (now) => filterOver(sources, caller, watched, now) })
  }

  get isTouched(): boolean {
    return this.#isMoved || this.#own.isTouched
  }

  /** Whether the request for the documents of the claim may have changed. */
  get #isMoved(): boolean {
    return this.#askings.length > 0 || this.#bases.some(({ isTouched }) => isTouched)
  }

  async read(
    sources: Pick<Sources, 'service'>,
    page: Pick<ChangePage, 'changes' | 'position'>,
    askings: readonly ClaimsAtWrite[],
  ): Promise<void> {
    for (const base of this.#bases) await base.read(sources, page, askings)
    await this.#own.read(sources, page, [])
    for (const change of page.changes) {
      if (!this.#places.has(change.write)) this.#places.set(change.write, this.#places.size)
      if (change.in === this.#watched.claim.from) this.#changes.push(change)
    }
    for (const { write, claims } of askings) {
      const asked = claims.find(({ claim }) => claim === this.#watched.claim)
      const last = this.#askings.at(-1)?.asked ?? this.#watched
      if (asked && asked.asked !== last.asked) this.#askings.push({ write, asked })
    }
    this.#position = page.position
  }

  /** The values of bases that changed are known after `wasAnother`. */
  at(edge: Edge): WatchedClaim {
    const period = edge === 'start' ? this.#periods[0] : this.#periods.at(-1)
    return period ? { ...this.#watched, bases: period.bases } : this.#watched
  }

  wasAnother(sources: Sources): Promise<boolean> {
    const { isTimed, bases } = this.#watched
    const areWhole = isTimed || bases.every(({ values }) => values?.isWhole !== false)
    if (!this.#isMoved && areWhole) return this.#own.wasAnother(sources)
    return sources.alone(() => (isTimed ? this.#wasMoved(sources) : this.#wasAnotherOver(sources)))
  }

  /** For a claim that depends on the time, other values of its bases count as another value. */
  async #wasMoved(sources: Sources): Promise<boolean> {
    if (this.#askings.length > 0) return true
    for (const base of this.#bases) if (base.isTouched && (await base.wasAnother(sources))) return true
    return this.#own.isTouched && this.#own.wasAnother(sources)
  }

  async #wasAnotherOver(sources: Sources): Promise<boolean> {
    const periods = await this.#findPeriods(sources)
    this.#periods = periods ?? []
    if (!periods || periods.length > MAX_ERAS) return true
    for (const [i, period] of periods.entries())
      if (await this.#wasAnotherIn(sources, period, periods[i + 1]?.from)) return true
    return false
  }

  /** Returns the periods of the claim; `undefined` if the values of its bases are unknown. */
  async #findPeriods(sources: Sources): Promise<readonly BasedPeriod[] | undefined> {
    const past: (readonly ClaimState[])[] = []
    for (const base of this.#bases) {
      const states = await base.states(sources)
      if (!states) return undefined
      past.push(states)
    }
    // Not sorted by the writes: `sort` moves `undefined`, which is the earliest, to the end.
    const starts = new Map(
      [...past.flat(), ...this.#askings].map(({ write }) => [this.#placeOf(write), write]),
    )
    const periods: BasedPeriod[] = []
    for (const [from, write] of [...starts].sort(([a], [b]) => a - b)) {
      const isBegun = (one: { readonly write: number | undefined }): boolean =>
        this.#placeOf(one.write) <= from
      const asked = this.#askings.findLast(isBegun)?.asked ?? this.#watched
      const bases = this.#watched.bases.map((base, i) => ({
        ...base,
        values: past[i]?.findLast(isBegun)?.values,
      }))
      const last = periods.at(-1)
      if (
        last?.asked.asked !== asked.asked ||
        !bases.every((base, i) => isSame(base.values, last.bases[i]?.values))
      )
        periods.push({ from, write, asked, bases })
    }
    return periods
  }

  readonly #placeOf = (write: number | undefined): number =>
    write === undefined ? -1 : (this.#places.get(write) ?? -1)

  async #wasAnotherIn(
    sources: Sources,
    { from, write, asked, bases }: BasedPeriod,
    end = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const { claim, values } = this.#watched
    const filter = await asked.filterAt('', holdClaims(sources.service, bases))
    if (!filter) return values !== undefined
    const later = this.#changes.filter((change) => this.#placeOf(change.write) >= from)
    const touches = await inSlices((slices) => findTouches(asked, filter, later, slices))
    const counted = touches.filter((touch) => this.#placeOf(touch.write) < end).length
    const areWhole = bases.every((base) => base.values?.isWhole === true)
    const countsBefore = touches[0] === undefined || touches[0].write !== write
    const history = { filter, touches, counted, position: this.#position, countsBefore }
    return lookBack(
      sources,
      { claim },
      history,
      (past, at) =>
        (at !== undefined || countsBefore) && !isSame({ ...past, isWhole: past.isWhole && areWhole }, values),
    )
  }
}

/** Creates the past of a claim of a caller. */
export const createPast = (sources: Sources, caller: KnownCaller | null, watched: WatchedClaim): PastClaim =>
  watched.bases.length === 0 ? new ClaimHistory(watched) : new ClaimOverHistory(sources, caller, watched)
