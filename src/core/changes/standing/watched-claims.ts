import { bindClaim, ReadClaims } from '../../claims/claims.js'
import type { Claim, Collection } from '../../config/plan.js'
import type { Filter } from '../../filter/filter.js'
import { bindVariables, type KnownCaller } from '../../permissions/caller.js'
import { selectReadRules } from '../../permissions/read-gate.js'
import { type ClaimValues, type HeldClaims, NOW } from '../../query/variable.js'
import type { Service } from '../../request/call.js'
import type { ReadLog, Store } from '../../request/store.js'

/** The dependencies of the code that decides which documents a subscriber may see. */
export interface Sources {
  readonly service: Service
  readonly store: Store
  readonly log: ReadLog
}

/** A claim that read rules use, and the request for its documents by one caller. */
export interface AskedClaim {
  readonly claim: Claim
  /**
   * The filter of the documents of the claim, at a time in stored form; `undefined` if the caller lacks a variable of
   * the filter.
   */
  filterAt(now: string): Filter | undefined
  /** The filter as text, independent of the time. */
  readonly asked: string
  readonly isTimed: boolean
}

/**
 * A claim with its values, sorted so that they do not depend on the age of documents. If the claim depends on the time,
 * `values` is `undefined`.
 */
export interface WatchedClaim extends AskedClaim {
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
  const bindAt = (now: string) => bindVariables(caller, () => now)
  return [...names].flatMap((name) => {
    const claim = plan.claims.get(name)
    if (!claim) return []
    const filterAt = (now: string) => bindClaim(claim, bindAt(now))
    const asked = JSON.stringify([name, filterAt(SOME_TIME) ?? null])
    const isTimed = claim.where.kind === 'bound' && claim.where.variables.includes(NOW)
    return [{ claim, filterAt, asked, isTimed }]
  })
}

/** Reads the current values of claims. Those in `known` are not read again, unless they depend on the time. */
export async function readClaims(
  { service, store }: Sources,
  caller: KnownCaller | null,
  asked: readonly AskedClaim[],
  known: readonly WatchedClaim[],
): Promise<readonly WatchedClaim[]> {
  const watched: WatchedClaim[] = []
  for (const one of asked) {
    const before = known.find((other) => other.asked === one.asked)
    const binding = bindVariables(caller, service.clock)
    const read = async () => sort(await service.readClaim(one.claim, binding, store))
    watched.push({ ...one, values: one.isTimed ? undefined : before ? before.values : await read() })
  }
  return watched
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

/** Reads claims that depend on the time, as of a time in stored form. */
export async function readTimed(
  { service, store }: Sources,
  caller: KnownCaller | null,
  timed: readonly WatchedClaim[],
  now: string,
): Promise<ReadonlyMap<string, ClaimValues | undefined>> {
  const values = new Map<string, ClaimValues | undefined>()
  const binding = bindVariables(caller, () => now)
  for (const { claim } of timed) values.set(claim.name, await service.readClaim(claim, binding, store))
  return values
}
