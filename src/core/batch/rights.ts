import { whenReady } from '../promises.js'
import type { Call } from '../request/call.js'
import type { MaybePromise } from '../types.js'

/** Writes everything that rules know about a caller: its roles, its own fields, and the values of all claims. */
export function writeRights(call: Call): MaybePromise<string> {
  const names = [...call.service.plan.claims.keys()]
  return whenReady(call.learn([{ claims: names }]), () => {
    const { user, claims } = call.binding
    const held = names.map((name) => {
      const claim = claims?.get(name)
      return claim && [claim.isWhole, claim.values.map((value) => JSON.stringify(value)).sort()]
    })
    return JSON.stringify([call.caller?.roles, user, held])
  })
}
