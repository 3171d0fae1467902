import type { Binding } from '../query/variable.js'
import type { Caller, JsonObject } from '../types.js'

/** A signed-in caller, whoever keeps the accounts. */
export interface KnownCaller {
  readonly id: string
  readonly roles: readonly string[]
  /** What `$user` stands for: the caller's own fields, `_id` among them. */
  readonly fields: JsonObject
}

/** A caller on a host's word. */
export const fromHost = (caller: Caller): KnownCaller => ({
  id: caller.id,
  roles: caller.roles ?? [],
  fields: { ...caller, _id: caller.id },
})

/** Tells the time in stored form. */
export type Clock = () => string

/** What the variables of a configuration stand for. */
export const bindingOf = (caller: KnownCaller | null, clock: Clock): Binding => ({
  user: caller?.fields ?? null,
  get now() {
    return clock()
  },
})
