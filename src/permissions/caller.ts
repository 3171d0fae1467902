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

/** Who asks, and what the variables of the configuration stand for meanwhile. */
export interface Asking {
  readonly caller: KnownCaller | null
  readonly binding: Binding
}

/** What the variables stand for. The time is told once, when it is first asked for. */
export function bindVariables(caller: KnownCaller | null, clock: Clock): Binding {
  let now: string | undefined
  return {
    user: caller?.fields ?? null,
    get now() {
      now ??= clock()
      return now
    },
  }
}
