import { bounds } from '../bounds.js'
import type { Claim } from '../config/plan.js'
import type { OrderKey } from '../filter/compare.js'
import { type Filter, ID, type Scalar } from '../filter/filter.js'
import { compareText } from '../json/compare-text.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import { writeValues } from '../permissions/read-gate.js'
import { isPromise, whenReady } from '../promises.js'
import { type Binding, type ClaimValues, type HeldClaims, NOW } from '../query/variable.js'
import { bindWhere } from '../query/where.js'
import { readByIds } from '../request/read-by-ids.js'
import type { Reader, Store } from '../request/store.js'
import type { StoredDocument } from '../storage.js'
import type { Logger } from '../types/host.js'
import type { MaybePromise } from '../types.js'

/** The maximum number of documents from which a claim takes values (CONTRACT.md §5, "Claims"). */
export const MAX_CLAIMED = 1000

/**
 * Reads the values of a claim for the caller of `binding`; returns `undefined` if the caller lacks a variable that the
 * claim needs.
 */
export type ReadClaim = (
  claim: Claim,
  binding: Binding,
  store: Store,
) => MaybePromise<ClaimValues | undefined>

/** The maximum number of warnings that the service remembers, each for one claim of one caller. */
const MAX_HEARD = 1000

/** Creates the function that reads claims. It logs a warning the first time that a claim is truncated for a caller. */
export function createClaimReader(logger: Pick<Logger, 'warn'>): ReadClaim {
  const heard = createBoundedMap<string, true>({ isOn: true }, MAX_HEARD)
  const keep = createKeptClaims()
  const warn = (claim: string, caller: unknown): void => {
    const key = JSON.stringify([claim, caller])
    if (heard.get(key)) return
    heard.set(key, true)
    const message = `the claim ${claim} has more than ${MAX_CLAIMED} documents, so only the oldest of them are used`
    logger.warn(message, { caller })
  }
  const read = (claim: Claim, binding: Binding, store: Store): MaybePromise<ClaimValues | undefined> => {
    const filter = bindClaim(claim, binding)
    if (!filter) return undefined
    const reader = store.own(claim.from)
    return whenReady(reader.list({ filter, limit: MAX_CLAIMED + 1, bytes: bounds.readBytes }), (listed) => {
      if (listed.length <= MAX_CLAIMED && !listed.rest) return gather(listed.map(claimFrom(claim)), true)
      return readOldest(reader, claim, filter, MAX_CLAIMED).then(({ claimed, isAll }) =>
        gather(claimed, isAll),
      )
    })
  }
  return (claim, binding, store) =>
    whenReady(
      keep({ claim, binding, store }, () => read(claim, binding, store)),
      (values) => {
        // Warns also if the values come from the cache, because they may have been read for another caller.
        if (values?.isWhole === false) warn(claim.name, binding.user?._id)
        return values
      },
    )
}

/** The cached values of a claim, and the state of the storage at which they were read. */
interface KeptClaim {
  readonly state: string
  readonly values: ClaimValues
}

/**
 * The size limit of the cache, in characters of keys and values. `OVERHEAD` is added for each claim and `VALUE` for
 * each value.
 */
const MAX_KEPT = 4 * 1024 * 1024
const OVERHEAD = 64
const VALUE = 16

const sizeOf = ({ values }: ClaimValues): number =>
  values.reduce<number>((sum, value) => sum + VALUE + (typeof value === 'string' ? value.length : 0), 0)

/**
 * Creates the cache of claims. An entry is valid while the storage holds the same documents. Claims that depend on the
 * time are not cached.
 */
function createKeptClaims(): (
  asked: { readonly claim: Claim; readonly binding: Binding; readonly store: Store },
  read: () => ReturnType<ReadClaim>,
) => ReturnType<ReadClaim> {
  const kept = createBoundedMap<string, KeptClaim>(CACHES.claims, MAX_KEPT)
  return ({ claim: { name, from, where }, binding, store }, read) => {
    const variables = where.kind === 'bound' ? where.variables : []
    const state = variables.includes(NOW) ? undefined : store.state([from])
    if (state === undefined) return read()
    const key = name + writeValues(variables, binding)
    const known = kept.get(key)
    if (known?.state === state) return known.values
    return whenReady(read(), (values) => {
      if (values) kept.set(key, { state, values }, OVERHEAD + key.length + sizeOf(values))
      return values
    })
  }
}

/** Returns the filter of a claim's documents; `undefined` if the caller lacks a variable of the claim. */
export function bindClaim({ where }: Claim, binding: Binding): Filter | undefined {
  let isLacking = false
  const filter = bindWhere(where, binding, () => {
    isLacking = true
  })
  return isLacking ? undefined : filter
}

/**
 * The value that a document gives to a claim, and the document's sort keys: sorting does not need the whole document.
 */
export interface Claimed {
  readonly createdAt: string
  readonly id: string
  readonly value: Scalar | undefined
}

/** Returns a function that reads the value of a claim from a document. */
export const claimFrom =
  ({ take }: Claim): ((document: StoredDocument) => Claimed) =>
  (document) => ({ createdAt: String(document.createdAt), id: document._id, value: take(document) })

const OLDEST_FIRST: readonly OrderKey[] = [
  { field: { path: 'createdAt', type: 'timestamp', each: false }, descending: false },
  { field: ID, descending: false },
]

/** Reads the oldest documents of a claim, in several reads if they are too many or too large for one. */
export async function readOldest(
  reader: Reader,
  claim: Claim,
  filter: Filter,
  most: number,
): Promise<Oldest> {
  const read = claimFrom(claim)
  const first = await reader.list({ filter, sort: OLDEST_FIRST, limit: most + 1, bytes: bounds.readBytes })
  const claimed = first.slice(0, most).map(read)
  const size = first.length + (first.rest?.length ?? 0)
  const left = first.rest?.slice(0, most - claimed.length) ?? []
  for await (const some of readByIds(reader, { filter }, left)) claimed.push(...some.map(read))
  return { claimed, isAll: size <= most }
}

/** The values of the oldest documents of a claim, in any order, and whether the claim has no more documents. */
export interface Oldest {
  readonly claimed: Claimed[]
  readonly isAll: boolean
}

const byAge = (a: Claimed, b: Claimed): number =>
  compareText(a.createdAt, b.createdAt) || compareText(a.id, b.id)

/** Returns the distinct values of the `MAX_CLAIMED` oldest documents, the oldest first. */
export function gather(claimed: Claimed[], isWhole: boolean): ClaimValues {
  const values = new Set<Scalar>()
  for (const { value } of claimed.sort(byAge).slice(0, MAX_CLAIMED))
    if (value !== undefined) values.add(value)
  return { values: [...values], isWhole }
}

/** The claims that have been read for one caller. */
export class ReadClaims implements HeldClaims {
  readonly #claims: ReadonlyMap<string, Claim>
  readonly #read: Map<string, ClaimValues | undefined>

  /** `read`: claims that have already been read. Default: none. */
  constructor(claims: ReadonlyMap<string, Claim>, read?: ReadonlyMap<string, ClaimValues>) {
    this.#claims = claims
    this.#read = new Map(read)
  }

  has(name: string): boolean {
    return this.#claims.has(name)
  }

  get(name: string): ClaimValues | undefined {
    if (!this.#read.has(name)) throw new Error(`the claim ${name} is used before it was read`)
    return this.#read.get(name)
  }

  /** Reads the named claims that have not been read yet. */
  learn(
    names: Iterable<string>,
    read: (claim: Claim) => MaybePromise<ClaimValues | undefined>,
  ): MaybePromise<undefined> {
    const readings: Promise<void>[] = []
    for (const name of new Set(names)) {
      const claim = this.#read.has(name) ? undefined : this.#claims.get(name)
      if (!claim) continue
      const kept = whenReady(read(claim), (values) => {
        this.#read.set(name, values)
      })
      if (isPromise(kept)) readings.push(kept)
    }
    return readings.length > 0 ? Promise.all(readings).then(() => undefined) : undefined
  }
}
