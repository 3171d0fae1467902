import type { Binding, HeldClaims } from '../query/variable.js'
import type { Caller, JsonObject } from '../types.js'

/** A signed-in caller, from the service's own accounts or from the host. */
export interface KnownCaller {
  readonly id: string
  readonly roles: readonly string[]
  /** The value of `$user`: the caller's own fields, including `_id`. */
  readonly fields: JsonObject
}

/** Converts the caller that a host identified. */
export const fromHost = (caller: Caller): KnownCaller => ({
  id: caller.id,
  roles: caller.roles ?? [],
  fields: { ...caller, _id: caller.id },
})

/** Returns the current time in stored form. */
export type Clock = () => string

/** The caller of a request, and the values that variables in rules have for this caller. */
export interface BoundCaller {
  readonly caller: KnownCaller | null
  readonly binding: Binding
}

/** Binds the variables of rules to the values of a caller. The time is read once, when it is first needed. */
export const bindVariables = (
  caller: KnownCaller | null,
  clock: Clock,
  claims?: HeldClaims | undefined,
): Binding => new CallersBinding(caller, clock, claims)

/** A class, because creating an object literal with a getter costs more than the binding itself. */
class CallersBinding implements Binding {
  readonly user: JsonObject | null
  readonly claims: HeldClaims | undefined
  readonly #clock: Clock
  #now: string | undefined

  constructor(caller: KnownCaller | null, clock: Clock, claims: HeldClaims | undefined) {
    this.user = caller?.fields ?? null
    this.claims = claims
    this.#clock = clock
  }

  get now(): string {
    this.#now ??= this.#clock()
    return this.#now
  }
}
