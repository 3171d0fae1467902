import { bindClaim, ReadClaims } from '../../claims/claims.js'
import type { Claim, Collection } from '../../config/plan.js'
import type { Filter } from '../../filter/filter.js'
import { bindVariables, type KnownCaller } from '../../permissions/caller.js'
import { selectReadRules, writeValues } from '../../permissions/read-gate.js'
import type { RunAlone } from '../../promises.js'
import { type ClaimValues, claimIn, type HeldClaims, NOW } from '../../query/variable.js'
import type { Service } from '../../request/call.js'
import type { ReadLog, Store } from '../../request/store.js'
import type { MaybePromise } from '../../types.js'

/** The dependencies of the code that decides which documents a subscriber may see. */
export interface Sources {
  readonly service: Service
  readonly store: Store
  readonly log: ReadLog
  /** Runs a reading of a claim that uses claims: only one at a time in a process. */
  readonly alone: RunAlone
}

/** A claim that read rules use, and the request for its documents by one caller. */
export interface AskedClaim {
  readonly claim: Claim
  /** The requests for the claims that it uses. */
  readonly bases: readonly AskedClaim[]
  /**
   * The filter of the documents of the claim, at a time in stored form and with the values of its bases; `undefined` if
   * the caller lacks a variable or a base.
   */
  filterAt(now: string, bases?: HeldClaims): MaybePromise<Filter | undefined>
  /** The filter as text, independent of the time and of the values of bases. */
  readonly asked: string
  /** Whether the claim, or one of its bases, depends on the time. */
  readonly isTimed: boolean
}

/**
 * A claim with its values, sorted so that they do not depend on the age of documents. If the claim depends on the time,
 * `values` is `undefined`.
 */
export interface WatchedClaim extends AskedClaim {
  readonly bases: readonly WatchedClaim[]
  readonly values: ClaimValues | undefined
}

/** Stands for any time. */
const SOME_TIME = '2026-01-01T00:00:00.000Z'

/** The claims of the rules that let a caller read a collection. */
export function claimsToRead(
  { plan }: Pick<Service, 'plan'>,
  { permissions }: Collection,
  caller: KnownCaller | null,
): readonly AskedClaim[] {
  if (plan.claims.size === 0) return []
  const names = new Set(selectReadRules(permissions, caller).flatMap(({ claims }) => claims))
  const find = (names: Iterable<string>): readonly Claim[] =>
    [...names].flatMap((name) => plan.claims.get(name) ?? [])
  const ask = (claim: Claim): AskedClaim => {
    const bases = find(claim.bases).map(ask)
    const variables = claim.where.kind === 'bound' ? claim.where.variables : []
    const own = variables.filter(
      (variable) => variable !== NOW && claimIn(plan.claims, variable) === undefined,
    )
    const filterAt = (now: string, held?: HeldClaims) =>
      bindClaim(
        claim,
        bindVariables(caller, () => now, held),
      )
    const binding = bindVariables(caller, () => SOME_TIME)
    const request =
      bases.length === 0
        ? (filterAt(SOME_TIME) ?? null)
        : [caller !== null, writeValues(own, binding), bases.map(({ asked }) => asked)]
    return {
      claim,
      bases,
      filterAt,
      asked: JSON.stringify([claim.name, request]),
      isTimed: variables.includes(NOW) || bases.some((base) => base.isTimed),
    }
  }
  return find(names).map(ask)
}

/** Reads the current values of claims. Those in `known` are not read again, unless they depend on the time. */
export async function readClaims(
  sources: Sources,
  caller: KnownCaller | null,
  asked: readonly AskedClaim[],
  known: readonly WatchedClaim[],
): Promise<readonly WatchedClaim[]> {
  const told = new Map(known.map((one) => [one.asked, one]))
  if (asked.some((one) => one.bases.length > 0 && !told.has(one.asked)))
    return sources.alone(() => readTogether(sources, caller, asked))
  const watched: WatchedClaim[] = []
  for (const one of asked) {
    const before = told.get(one.asked)
    const values = async () => (before ? before.values : readPlain(sources, caller, one))
    watched.push({ ...one, bases: before?.bases ?? [], values: one.isTimed ? undefined : await values() })
  }
  return watched
}

const readPlain = async (
  { service, store }: Sources,
  caller: KnownCaller | null,
  { claim }: AskedClaim,
): Promise<ClaimValues | undefined> =>
  sort(await service.readClaim(claim, bindVariables(caller, service.clock), store))

/** Reads claims, and the claims that they use, as of one moment. */
async function readTogether(
  sources: Sources,
  caller: KnownCaller | null,
  asked: readonly AskedClaim[],
): Promise<readonly WatchedClaim[]> {
  const lasting = [...asked, ...asked.flatMap(({ bases }) => bases)].filter(({ isTimed }) => !isTimed)
  const held = await learn(sources, caller, lasting, sources.service.clock)
  const watch = (one: AskedClaim): WatchedClaim => ({
    ...one,
    bases: one.bases.map(watch),
    values: one.isTimed ? undefined : sort(held.get(one.claim.name)),
  })
  return asked.map(watch)
}

async function learn(
  { service, store }: Sources,
  caller: KnownCaller | null,
  asked: readonly AskedClaim[],
  clock: () => string,
): Promise<HeldClaims> {
  const held = new ReadClaims(service.plan.claims)
  const binding = bindVariables(caller, clock, held)
  await held.learn(
    asked.map(({ claim }) => claim.name),
    { isSignedIn: caller !== null, read: (claim) => service.readClaim(claim, binding, store) },
  )
  return held
}

const sort = (read: ClaimValues | undefined): ClaimValues | undefined =>
  read && { values: [...read.values].sort(), isWhole: read.isWhole }

/** Converts claims to the form that rules use. Claims that depend on the time have only the values in `timed`. */
export function holdClaims(
  { plan }: Pick<Service, 'plan'>,
  watched: readonly WatchedClaim[],
  timed: ReadonlyMap<string, ClaimValues | undefined> = new Map(),
): HeldClaims {
  const values = watched.map(({ claim: { name }, values }) => [name, timed.get(name) ?? values] as const)
  return new ReadClaims(plan.claims, new Map(values))
}

/** Returns the filter of the documents of a claim, with the known values of its bases. */
export async function filterOver(
  sources: Sources,
  caller: KnownCaller | null,
  { bases, filterAt }: WatchedClaim,
  now: string,
): Promise<Filter | undefined> {
  const timed = await readTimed(
    sources,
    caller,
    bases.filter(({ isTimed }) => isTimed),
    now,
  )
  return filterAt(now, holdClaims(sources.service, bases, timed))
}

/** Reads claims that depend on the time, as of a time in stored form. */
export async function readTimed(
  sources: Sources,
  caller: KnownCaller | null,
  timed: readonly AskedClaim[],
  now: string,
): Promise<ReadonlyMap<string, ClaimValues | undefined>> {
  if (timed.length === 0) return new Map()
  const held = await learn(sources, caller, timed, () => now)
  return new Map(timed.map(({ claim: { name } }) => [name, held.get(name)]))
}

/** Returns watched claims with the values that their bases have in `present`. */
export const withBasesOf = (
  watched: readonly WatchedClaim[],
  present: readonly WatchedClaim[],
): readonly WatchedClaim[] =>
  watched.map((one) => {
    if (one.bases.length === 0) return one
    const bases = present.find(({ claim }) => claim === one.claim)?.bases ?? []
    const values = new Map(bases.map((base) => [base.claim, base.values]))
    return { ...one, bases: one.bases.map((base) => ({ ...base, values: values.get(base.claim) })) }
  })
