import { bounds } from '../bounds.js'
import type { Claim } from '../config/plan.js'
import type { OrderKey } from '../filter/compare.js'
import { type Filter, ID, isNothing, type Scalar } from '../filter/filter.js'
import { simplify } from '../filter/simplify.js'
import { compareText } from '../json/compare-text.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import { writeValues } from '../permissions/read-gate.js'
import { isPromise, whenReady } from '../promises.js'
import { type Binding, type ClaimValues, type HeldClaims, NOW, userPathOf } from '../query/variable.js'
import { bindWhere } from '../query/where.js'
import { readByIds } from '../request/read-by-ids.js'
import { overtaken } from '../request/refusals.js'
import type { Reader, Store } from '../request/store.js'
import type { StoredDocument } from '../storage.js'
import type { Logger } from '../types/host.js'
import type { MaybePromise } from '../types.js'

/** The maximum number of documents from which a claim takes values (CONTRACT.md §5, "Claims"). */
export const MAX_CLAIMED = 1000

/** The values of a claim. */
interface ClaimReading extends ClaimValues {
  /**
   * The values of the claims that it uses (its bases), by name, as of the same moment. Missing are those that the
   * storage did not read together with the claim.
   */
  readonly bases?: ReadonlyMap<string, ClaimValues>
}

/**
 * Reads the values of a claim for the caller of `binding`, which holds the values of its bases; returns `undefined` if
 * the caller lacks a variable that the claim needs.
 */
export type ReadClaim = (
  claim: Claim,
  binding: Binding,
  store: Store,
) => MaybePromise<ClaimReading | undefined>

/** The maximum number of warnings that the service remembers, each for one claim of one caller. */
const MAX_HEARD = 1000

/** Creates the function that reads claims. It logs a warning the first time that a claim is truncated for a caller. */
export function createClaimReader(
  logger: Pick<Logger, 'warn'>,
  claims: ReadonlyMap<string, Claim>,
): ReadClaim {
  const heard = createBoundedMap<string, true>({ isOn: true }, MAX_HEARD)
  const keep = createKeptClaims()
  const bases = new Set(Array.from(claims.values(), (claim) => claim.bases).flat())
  const warn = (claim: string, caller: unknown): void => {
    const key = JSON.stringify([claim, caller])
    if (heard.get(key)) return
    heard.set(key, true)
    const message = `the claim ${claim} has more than ${MAX_CLAIMED} documents, so only the oldest of them are used`
    logger.warn(message, { caller })
  }
  const read = (claim: Claim, binding: Binding, store: Store): MaybePromise<ClaimReading | undefined> => {
    const filter = bindClaim(claim, binding)
    if (!filter) return undefined
    return claim.bases.length === 0
      ? readAlone(claim, filter, store, bases.has(claim.name))
      : readOver({ claim, filter, binding, claims }, store)
  }
  return (claim, binding, store) => {
    if (!mayHold(claim, binding)) return undefined
    return whenReady(
      keep({ claim, binding, store }, () => read(claim, binding, store)),
      (values) => {
        // Warns also if the values come from the cache, because they may have been read for another caller.
        if (values?.isWhole === false && areWhole(claim, binding)) warn(claim.name, binding.user?._id)
        return values
      },
    )
  }
}

function readAlone(claim: Claim, filter: Filter, store: Store, isBase: boolean): MaybePromise<ClaimValues> {
  const reader = store.own(claim.from)
  const collect = (claimed: Claimed[], isWhole: boolean): ClaimValues => {
    const values = gather(claimed, isWhole)
    return isBase ? { ...values, documents: claimed } : values
  }
  return whenReady(reader.list({ filter, limit: MAX_CLAIMED + 1, bytes: bounds.readBytes }), (listed) => {
    if (listed.length <= MAX_CLAIMED && !listed.rest) return collect(listed.map(claimFrom(claim)), true)
    return readOldest(reader, claim, filter, MAX_CLAIMED).then(({ claimed, isAll }) =>
      collect(claimed, isAll),
    )
  })
}

interface ClaimOver {
  readonly claim: Claim
  readonly filter: Filter
  readonly binding: Binding
  readonly claims: ReadonlyMap<string, Claim>
}

/** Reads a claim that uses claims, together with these if the storage can do that. */
function readOver({ claim, filter, binding, claims }: ClaimOver, store: Store): MaybePromise<ClaimReading> {
  const finish = ({ values, isWhole }: ClaimValues): ClaimValues => ({
    values,
    isWhole: isWhole && areWhole(claim, binding),
  })
  const held = new Map(claim.bases.flatMap((name) => pair(name, binding.claims?.get(name))))
  if (isNothing(simplify(filter))) return { ...finish({ values: [], isWhole: true }), bases: held }
  const alone = (): MaybePromise<ClaimReading> => whenReady(readAlone(claim, filter, store, false), finish)
  const bases = claim.bases.flatMap((name) => claims.get(name) ?? [])
  const asked = [{ claim, filter }, ...bases.flatMap((base) => askFor(base, binding))]
  const together = store.together(
    asked.map(({ claim: { from }, filter }) => ({ in: from, filter, limit: MAX_CLAIMED + 1 })),
  )
  if (!together) return alone()
  return whenReady(together, (lists) => {
    const read = asked.map(({ claim: one }, i) => {
      const listed = lists[i]
      return listed && listed.length <= MAX_CLAIMED ? gather(listed.map(claimFrom(one)), true) : undefined
    })
    const [own] = read
    if (!own) return alone()
    return {
      ...finish(own),
      bases: new Map(
        bases.flatMap(({ name }) => pair(name, read[asked.findIndex((one) => one.claim.name === name)])),
      ),
    }
  })
}

const pair = <T>(name: string, value: T | undefined): readonly (readonly [string, T])[] =>
  value === undefined ? [] : [[name, value]]

function askFor(claim: Claim, binding: Binding): readonly Pick<ClaimOver, 'claim' | 'filter'>[] {
  const filter = bindClaim(claim, binding)
  return filter ? [{ claim, filter }] : []
}

/** Whether all bases of a claim have all their values. */
const areWhole = ({ bases }: Claim, { claims }: Binding): boolean =>
  bases.every((name) => claims?.get(name)?.isWhole !== false)

/** The cached values of a claim, and the state of the storage at which they were read. */
interface KeptClaim {
  readonly state: string
  readonly values: ClaimValues
}

/**
 * The size limit of the cache, in characters of keys and values. `OVERHEAD` is added for each claim and each document,
 * and `VALUE` for each value.
 */
const MAX_KEPT = 4 * 1024 * 1024
const OVERHEAD = 64
const VALUE = 16

const sizeOf = ({ values, documents = [] }: ClaimValues): number =>
  values.reduce<number>(
    (sum, value) => sum + VALUE + (typeof value === 'string' ? value.length : 0),
    documents.length * OVERHEAD,
  )

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

/**
 * Returns the filter of a claim's documents; `undefined` if the caller lacks a variable or a base of the claim.
 */
export function bindClaim(claim: Claim, binding: Binding): Filter | undefined {
  const { where, bases } = claim
  if (!mayHold(claim, binding)) return undefined
  let isLacking = false
  const filter = bindWhere(where, binding, (variables) => {
    // A base that is cut off is not lacking.
    isLacking ||=
      bases.length === 0 || variables.some((variable) => !bases.includes(userPathOf(variable) ?? ''))
  })
  return isLacking ? undefined : filter
}

/** Whether a caller has the bases of a claim. An anonymous caller has no claim that has bases. */
const mayHold = ({ bases }: Claim, { user, claims }: Binding): boolean =>
  bases.length === 0 || (user !== null && bases.every((name) => claims?.get(name) !== undefined))

/**
 * The value that a document gives to a claim, and the document's sort keys: sorting does not need the whole document.
 */
export interface Claimed {
  readonly createdAt: string
  readonly id: string
  readonly version: number
  readonly value: Scalar | undefined
}

/** Returns a function that reads the value of a claim from a document. */
export const claimFrom =
  ({ take }: Claim): ((document: StoredDocument) => Claimed) =>
  (document) => ({
    createdAt: String(document.createdAt),
    id: document._id,
    version: document._version,
    value: take(document),
  })

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

  /** `read`: claims that have already been read; `undefined` for those that the caller lacks. Default: none. */
  constructor(claims: ReadonlyMap<string, Claim>, read?: ReadonlyMap<string, ClaimValues | undefined>) {
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

  /**
   * Reads the named claims that have not been read yet. Claims that use claims come last, because `read` needs the
   * values of their bases; an anonymous caller lacks them.
   */
  learn(
    names: Iterable<string>,
    { isSignedIn, read }: { readonly isSignedIn: boolean; readonly read: ReadOne },
  ): MaybePromise<undefined> {
    const over: Claim[] = []
    const plain: Claim[] = []
    for (const name of new Set(names)) {
      const claim = this.#read.has(name) ? undefined : this.#claims.get(name)
      if (claim) (claim.bases.length > 0 ? over : plain).push(claim)
    }
    if (over.length === 0) return this.#readAll(plain, read)
    if (!isSignedIn) return this.#readAll([...plain, ...over], read)
    const bases = this.#basesOf(over).filter(({ name }) => !this.#read.has(name))
    const first = this.#readAll([...new Set([...plain, ...bases])], read)
    return whenReady(first, () => this.#learnOver(over, read))
  }

  /**
   * Reads claims that use claims. If a base has other values afterwards, or the same values of documents that were
   * written meanwhile, all of them are read again, so that their values and those of their bases are of one moment.
   * Throws `overloaded` if the bases change in every attempt.
   */
  #learnOver(over: readonly Claim[], read: ReadOne, left = MAX_ATTEMPTS): MaybePromise<undefined> {
    return whenReady(this.#readAll(over, read), () => {
      const known = new Map<string, ClaimValues | undefined>()
      const unknown = new Set<Claim>()
      for (const claim of over) {
        const reading: ClaimReading | undefined = this.#read.get(claim.name)
        if (!reading) continue
        for (const base of this.#basesOf([claim])) {
          const values = reading.bases?.get(base.name)
          if (!values) unknown.add(base)
          else if (!isSame(values, this.#read.get(base.name))) known.set(base.name, values)
        }
      }
      const again = new ReadClaims(this.#claims)
      return whenReady(again.#readAll([...unknown], read), () => {
        for (const { name } of unknown)
          if (!isUnwritten(again.get(name), this.#read.get(name))) known.set(name, again.get(name))
        if (known.size === 0) return undefined
        if (left === 1) throw overtaken()
        for (const [name, values] of known) this.#read.set(name, values)
        return this.#learnOver(over, read, left - 1)
      })
    })
  }

  #basesOf(over: readonly Claim[]): readonly Claim[] {
    const names = new Set(over.flatMap(({ bases }) => bases))
    return [...names].flatMap((name) => this.#claims.get(name) ?? [])
  }

  #readAll(claims: readonly Claim[], read: ReadOne): MaybePromise<undefined> {
    const readings: Promise<void>[] = []
    for (const claim of claims) {
      const kept = whenReady(read(claim), (values) => {
        this.#read.set(claim.name, values)
      })
      if (isPromise(kept)) readings.push(kept)
    }
    return readings.length > 0 ? Promise.all(readings).then(() => undefined) : undefined
  }
}

/** Reads a claim for one caller. */
type ReadOne = (claim: Claim) => MaybePromise<ClaimReading | undefined>

/** The maximum number of readings of claims while the claims that they use keep changing. */
const MAX_ATTEMPTS = 10

/** Whether no document of a claim was written between two readings. */
const isUnwritten = (one: ClaimValues | undefined, other: ClaimValues | undefined): boolean => {
  const { documents = null } = one ?? {}
  return (
    one === other ||
    (documents !== null &&
      documents.length === other?.documents?.length &&
      documents.every(({ id, version }, i) => {
        const before = other.documents?.[i]
        return id === before?.id && version === before.version
      }))
  )
}

/** Whether two readings of a claim have the same values, in the same order. */
const isSame = (one: ClaimValues | undefined, other: ClaimValues | undefined): boolean =>
  one === other ||
  (one !== undefined &&
    one.isWhole === other?.isWhole &&
    one.values.length === other.values.length &&
    one.values.every((value, i) => value === other.values[i]))
