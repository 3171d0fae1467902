import { type ErrorCode, isServiceError } from '../errors.js'
import { suggest } from '../fields/schema/names.js'
import type { KnownCaller } from '../permissions/caller.js'
import { isRole } from '../permissions/grants.js'
import { Call, type Service } from '../request/call.js'
import { type Deadline, RequestDeadline, waitUntilLate } from '../request/deadline.js'
import type { Store } from '../request/store.js'
import type { IdentifiedCaller, MaybePromise, ServiceOptions } from '../types.js'
import { readUnanswered } from './fetch-edge.js'
import { createAskPlainly, createIdentify } from './identify.js'

/** The parts of a service that identifying a caller needs. */
interface IdentifyParts {
  readonly authenticate: ServiceOptions['authenticate']
  /** Opens the storage, if it is not open yet. */
  readonly open: () => MaybePromise<undefined>
  readonly createStore: (deadline: Deadline) => Store
  /** Counts work as running until the returned function is called. */
  readonly track: () => () => void
}

/** Creates the function that identifies callers for routes of the host (CONTRACT.md §7, "Identifying callers"). */
export function createIdentifyRequest(
  service: Service,
  { authenticate, open, createStore, track }: IdentifyParts,
): (request: Request) => Promise<IdentifiedCaller | null> {
  const identify = createIdentify(service, createAskPlainly(authenticate))
  const seconds = service.plan.limits.requestSeconds
  const inTime = <T>(run: (deadline: Deadline) => Promise<T>): Promise<T> => {
    const deadline = new RequestDeadline()
    return waitUntilLate(run(deadline), deadline, {
      seconds,
      onSettled: track(),
      onGone: () => () => {},
      discard() {},
    })
  }
  const show = (caller: KnownCaller): IdentifiedCaller =>
    Object.freeze({
      id: caller.id,
      roles: Object.freeze(caller.roles.filter(isRole)),
      claims: (name: string) => inTime((deadline) => readClaim(service, caller, { name, deadline })),
    })
  const readClaim = async (
    { plan }: Service,
    caller: KnownCaller,
    { name, deadline }: { readonly name: string; readonly deadline: Deadline },
  ) => {
    if (!plan.claims.has(name)) throw unknownClaim(name, [...plan.claims.keys()])
    await open()
    const call = new Call(service, { deadline, store: createStore(deadline), caller, session: undefined })
    await call.learn([{ claims: [name] }])
    const held = call.binding.claims?.get(name)
    return held ? { values: [...held.values], isAll: held.isWhole } : null
  }
  return async (request) => {
    const incoming = readUnanswered(request, 'identify')
    if (!identify) return null
    try {
      return await inTime(async (deadline) => {
        await open()
        const { caller } = await identify(incoming, { deadline, store: createStore(deadline) })
        return caller && show(caller)
      })
    } catch (thrown) {
      if (isServiceError(thrown) && UNKNOWN.includes(thrown.code)) return null
      throw thrown
    }
  }
}

/** The codes of errors that say that a request has no caller. */
const UNKNOWN: readonly ErrorCode[] = ['invalid_token', 'cross_site']

function unknownClaim(name: string, names: readonly string[]): TypeError {
  const known = names.length > 0 ? ` declared: ${names.join(', ')}` : ' it declares none'
  return new TypeError(
    `the configuration declares no claim ${JSON.stringify(name)}${suggest(name, names) || ';'}${known}`,
  )
}
