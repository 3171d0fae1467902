import type { Session } from '../accounts/auth/sessions.js'
import { resumeSession } from '../accounts/sessions.js'
import type { AuthPlan, Collection } from '../config/plan.js'
import { ServiceError } from '../errors.js'
import { USERS } from '../fields/schema/names.js'
import type { KnownCaller } from '../permissions/caller.js'
import {
  ALL_PROPERTIES,
  EVERYONE,
  listRules,
  type Rule,
  type RuleOperation,
  rulesOf,
} from '../permissions/grants.js'
import { type ReadAccess, selectReadRules } from '../permissions/read-gate.js'
import { selectWriteRules } from '../permissions/write-rules.js'
import { isPromise, whenReady } from '../promises.js'
import { ANYWHERE } from '../query/where.js'
import type { MaybePromise } from '../types.js'
import { Call } from './call.js'
import { denied, isRefusal, notFound, overtaken } from './refusals.js'

/** The rules under which a caller may write to a collection. */
export interface Permit {
  readonly collection: Collection
  readonly rules: readonly Rule[]
  /** The session of the caller. */
  readonly session?: Session | undefined
  /** Returns the permit for a later call with the caller's current account; absent if the caller cannot change. */
  readonly again?: (call: Call) => Permit
}

/** The accounts of a service, on which rights depend. */
interface Governed {
  readonly accounts: AuthPlan | null
}

/** The caller for whom rules are selected, and the service. */
interface Enquiry {
  readonly caller: KnownCaller | null
  readonly service: Governed
}

/**
 * Returns the access for reading documents. If no grant applies to the caller, throws `unauthenticated` for an anonymous
 * caller. For all others, it throws `forbidden` for a list or a count, and `not_found` for one document, whether or not
 * the document exists.
 */
export function authorizeRead(call: Call, collection: Collection, reads: 'list' | 'document'): ReadAccess {
  const { service, caller } = call
  service.trace?.permits(call, {
    operation: 'read',
    collection: collection.name,
    // The read gate selects the rules too, but does not return them.
    rules: selectReadRules(collection.permissions, caller),
  })
  const access = call.access(collection)
  if (!access) throw caller === null || reads === 'list' ? denied(caller) : notFound()
  return access
}

/**
 * Whether a create is rejected because registration is closed (regardless of the rules): an anonymous create in the
 * collection of accounts is a registration (CONTRACT.md §4).
 */
export const isClosedTo = ({ caller, service: { accounts } }: Enquiry, collection: Collection): boolean =>
  caller === null && accounts?.users === collection && !accounts.register

/**
 * Returns the rules under which a caller may create documents. If accounts must be verified, the grants of `*` on users
 * only define what a registration accepts, so they are left out (CONTRACT.md §4, "No enumeration").
 */
export function rulesToCreate(
  { caller, service: { accounts } }: Enquiry,
  collection: Collection,
): readonly Rule[] {
  const rules = selectWriteRules(collection.permissions.create, caller)
  const isQuiet = accounts?.users === collection && accounts.requiresVerified
  return isQuiet ? rules.filter(({ subject }) => subject !== EVERYONE) : rules
}

/** Returns the rule that defines the properties that a registration accepts in addition to identifier and secret. */
export const ruleToRegister = ({ users }: AuthPlan): Rule =>
  rulesOf(users.permissions.create, EVERYONE)[0] ?? NO_PROPERTIES

const NO_PROPERTIES: Rule = {
  subject: EVERYONE,
  place: '',
  properties: { ...ALL_PROPERTIES, pick: new Set() },
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: false,
  claims: [],
}

/**
 * Returns the permit to create documents. Throws `unauthenticated` or `forbidden`. `isIdGiven`: the client chooses the
 * `_id`. This is always forbidden in `users`, because an account's `_id` is an identity.
 */
export function authorizeCreate(call: Call, collection: Collection, isIdGiven = false): Permit {
  const isBarred = isIdGiven && collection.name === USERS
  const isClosed = isClosedTo(call, collection)
  const rules = isClosed ? NO_RULES : rulesToCreate(call, collection)
  const traced = {
    operation: 'create',
    collection: collection.name,
    rules: isBarred ? NO_RULES : rules,
  } as const
  call.service.trace?.permits(call, traced)
  if (isClosed) throw registrationClosed()
  if (rules.length === 0) throw denied(call.caller)
  if (isBarred) throw new ServiceError('forbidden', 'An account gets its _id from the service.')
  const again: Permit['again'] = (own) => authorizeCreate(own, collection, isIdGiven)
  return { collection, rules, session: call.session, again }
}

const NO_RULES: readonly Rule[] = []

const registrationClosed = (): ServiceError => new ServiceError('forbidden', 'Registration is closed.')

/**
 * Returns the permit to change or delete a document. If the permit has no rules, the response is 404 or 403, depending
 * on the document. Throws `unauthenticated` for an anonymous caller if `*` is not granted the operation.
 */
export function authorizeWrite(call: Call, collection: Collection, operation: 'update' | 'delete'): Permit {
  const { caller, service } = call
  const rules = selectWriteRules(collection.permissions[operation], caller)
  service.trace?.permits(call, { operation, collection: collection.name, rules })
  if (rules.length === 0 && caller === null) throw denied(caller)
  const again: Permit['again'] = (own) => authorizeWrite(own, collection, operation)
  return { collection, rules, session: call.session, again }
}

/** Begins an attempt at a write under a permit. Reads the caller's claims again (CONTRACT.md §5, "Claims"). */
export function attempt<P extends Permit, T>(
  call: Call,
  permit: P,
  plan: (own: Call, permit: P) => MaybePromise<T>,
): MaybePromise<T> {
  const judge = (present: Call): MaybePromise<T> => {
    const held = present.session === permit.session ? permit : { ...permit, ...permit.again?.(present) }
    if (call.service.plan.claims.size === 0) return plan(present, held)
    // A batch itself reads claims again when an earlier operation may have changed them.
    const own = present.isInBatch ? present : present.renew()
    const reading = own.selectEvaluated(held.collection.permissions)
    return whenReady(own.learn([...held.rules, ...reading]), () => plan(own, held))
  }
  return steadily(call, judge)
}

/** The maximum number of evaluations of one request while its caller's account keeps changing. */
const MAX_ACCOUNTS = 10

/**
 * Evaluates a write, and evaluates it again if the caller's account changed during the evaluation. While a slow body
 * arrived, or a hook or another write took time, the session may have ended or the caller may have lost rights
 * (CONTRACT.md §2, "Concurrency"). Writes that take effect together are evaluated with the same account. Throws
 * `invalid_token` if the session has ended, and `overloaded` if the account changes too often.
 */
export function steadily<T>(
  call: Call,
  judge: (present: Call) => MaybePromise<T>,
  left = MAX_ACCOUNTS,
): MaybePromise<T> {
  if (!call.session || call.shared) return judge(call)
  if (left === 0) throw overtaken()
  return whenReady(
    settle(() => judge(call)),
    (give) =>
      whenReady(resume(call), (present) => (present === call ? give() : steadily(present, judge, left - 1))),
  )
}

/** Runs an evaluation and returns its outcome as a function, which returns the result or throws the rejection. */
function settle<T>(judge: () => MaybePromise<T>): MaybePromise<() => T> {
  const give = (result: T) => (): T => result
  const hold = (thrown: unknown) => {
    if (!isRefusal(thrown)) throw thrown
    return (): never => {
      throw thrown
    }
  }
  try {
    const judged = judge()
    return isPromise(judged) ? judged.then(give, hold) : give(judged)
  } catch (thrown) {
    return hold(thrown)
  }
}

/**
 * Returns the call with the account as it is now; the same call if the account is unchanged. Throws if the session has
 * ended.
 */
export function resume(call: Call): MaybePromise<Call> {
  const { service, session, store, deadline, shared, isInBatch, isStrict, binding } = call
  const { accounts } = service
  if (!session || !accounts) return call
  return whenReady(resumeSession(service, store, accounts, session), (present) =>
    present.session.user._version === session.user._version
      ? call
      : new Call(service, { deadline, store, shared, isInBatch, isStrict, now: binding.now, ...present }),
  )
}

/** Throws `forbidden` if registration is closed. */
export function authorizeRegistration({ service: { accounts } }: Call): void {
  if (!accounts?.register) throw registrationClosed()
}

/** The holder of rights: a known caller, the anonymous caller (`null`), or all callers combined (`undefined`). */
export type RightsHolder = KnownCaller | null | undefined

/** The rules that apply to a holder of rights in a collection, by operation. */
export type Rights = { readonly [operation in RuleOperation]: readonly Rule[] }

/** Returns the rights of a holder in a collection; for `undefined`, the union of all rights. */
export function findRights(service: Governed, collection: Collection, reader: RightsHolder): Rights {
  const { permissions } = collection
  if (reader === undefined) return findAllRights(service, collection)
  const asking = { caller: reader, service }
  const read = selectReadRules(permissions, reader)
  // A caller who may read nothing may not change or delete anything either.
  const select = (operation: 'update' | 'delete'): readonly Rule[] =>
    read.length > 0 ? selectWriteRules(permissions[operation], reader) : []
  return {
    read,
    create: isClosedTo(asking, collection) ? [] : rulesToCreate(asking, collection),
    update: select('update'),
    delete: select('delete'),
  }
}

function findAllRights({ accounts }: Governed, collection: Collection): Rights {
  const { permissions } = collection
  const all = (operation: RuleOperation): readonly Rule[] => listRules(permissions[operation])
  const isQuiet = accounts?.users === collection && accounts.requiresVerified
  const create = all('create').filter(({ subject }) => !(isQuiet && subject === EVERYONE))
  return { read: all('read'), create, update: all('update'), delete: all('delete') }
}
