import { selectReadRules } from '../../../permissions/read-gate.js'
import { whenReady } from '../../../promises.js'
import { USERS } from '../../../schema/names.js'
import type { MaybePromise } from '../../../types.js'
import type { Permit } from '../../authorize.js'
import { type Call, createCall } from '../../call.js'

/** The permits under which something was attempted with a session. */
const used = new WeakSet<Permit>()

/**
 * Begins an attempt at a write under a permit. What the caller is through other documents is read anew (CONTRACT.md
 * §5, "Claims"), and in every further attempt the account and its session, too: somebody else came first, perhaps
 * whoever took rights from this caller.
 */
export function attempt<P extends Permit, T>(
  call: Call,
  permit: P,
  plan: (own: Call, permit: P) => MaybePromise<T>,
): MaybePromise<T> {
  if (!call.session) return attemptBy(call, permit, plan)
  if (used.has(permit))
    return whenReady(resume(call), (own) =>
      attemptBy(own, own === call ? permit : { ...permit, ...permit.again?.(own) }, plan),
    )
  used.add(permit)
  return attemptBy(call, permit, plan)
}

/** The same request by who calls now. */
function resume(call: Call): MaybePromise<Call> {
  const { service, session, store } = call
  const accounts = session && service.attachments.get(USERS)
  if (!session || !accounts) return call
  return whenReady(accounts.resume(service, store, session.id), (present) =>
    present.session.user._version === session.user._version
      ? call
      : createCall(service, { ...call, ...present, now: call.binding.now }),
  )
}

function attemptBy<P extends Permit, T>(
  call: Call,
  permit: P,
  plan: (own: Call, permit: P) => MaybePromise<T>,
): MaybePromise<T> {
  if (call.service.plan.claims.size === 0) return plan(call, permit)
  const own = call.renew()
  const learning = own.learn([...permit.rules, ...selectReadRules(permit.collection.permissions, own.caller)])
  return learning ? learning.then(() => plan(own, permit)) : plan(own, permit)
}
