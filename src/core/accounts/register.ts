import type { AuthPlan } from '../config/plan.js'
import { createSystemFields } from '../documents/write/new-document.js'
import { assemble, planWrite } from '../documents/write/plan-write.js'
import { beginWrite, runWrite } from '../documents/write/run-write.js'
import { readStamp } from '../documents/write/stored-document.js'
import { checkDocumentSize, findAgain, type Ignoring } from '../documents/write/written.js'
import { whereHooked } from '../hooks/where-hooked.js'
import { readOwn } from '../json/own-properties.js'
import { toPointerPart } from '../json/pointer.js'
import { attempt, type Permit, ruleToRegister } from '../request/authorize.js'
import { Call, behind as doBehind, lineOf } from '../request/call.js'
import { isBeside, isRefusal } from '../request/refusals.js'
import type { Attempt } from '../request/store/attempt.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'
import { issueSession } from './auth/sessions.js'
import { deliverMessage } from './delivery/deliver.js'
import { findUser, type SignedIn } from './login.js'
import { showAccount, showAgain } from './show-account.js'

/**
 * The result of a registration. `account` is the new account, signed in; `null` if the response must not reveal whether
 * an account was created.
 */
export interface Registered extends Ignoring {
  readonly account: SignedIn | null
}

/**
 * Creates an account with the rights of an anonymous caller, even if the caller is signed in (CONTRACT.md §4,
 * "Registration"). Throws `validation_failed`, `forbidden` if a `check` fails, `document_too_large` and `overloaded`.
 * Throws `unique_violation` only if accounts need not be verified: otherwise only a message to the identifier reveals
 * that it was taken.
 */
export async function register(call: Call, auth: AuthPlan, body: JsonObject): Promise<Registered> {
  const store = call.store.by(null)
  const stranger = new Call(call.service, { ...call, store, caller: null, session: undefined })
  const { user, isTaken, registered } = auth.requiresVerified
    ? await registerQuietly(stranger, auth, body)
    : { ...(await write(stranger, auth, (own) => planAnew(own, auth, body))), isTaken: false }
  if (auth.verified && call.service.deliver) tellOwner(call, auth, user, isTaken)
  return registered
}

/** Writes a new account together with the operations that a hook adds. */
const write = (
  stranger: Call,
  auth: AuthPlan,
  plan: (own: Call) => MaybePromise<Attempt<Planned>>,
): MaybePromise<Planned> =>
  whereHooked(
    stranger,
    auth.users,
    (own) => own.store.write(() => plan(own)),
    async (own, { user, registered: { account, ignored } }) => ({
      user: await findAgain(own, auth.users, user._id),
      registered: { account: account && (await showAgain(auth)(own, account)), ignored },
    }),
  )

/** Registers an account with the same steps and the same response, whether the identifier is taken or not. */
async function registerQuietly(
  call: Call,
  auth: AuthPlan,
  body: JsonObject,
): Promise<Planned & { isTaken: boolean }> {
  let planned: Planned | undefined
  try {
    const written = await write(call, auth, async (own) => {
      planned = undefined
      const attempt = await planAnew(own, auth, body)
      planned = attempt.done
      return attempt
    })
    return { ...written, isTaken: false }
  } catch (thrown) {
    // If the registration was planned, only the write can have failed, most likely because the identifier is taken. The
    // response must not contain any error of the write, because the error would reveal that.
    if (!planned || !(isRefusal(thrown) || isBeside(thrown))) throw thrown
    // A client can set no other unique field at registration, but a hook can.
    const at = toPointerPart(auth.identifier.name)
    const isTaken = isRefusal(thrown) && !isBeside(thrown) && thrown.errors.some(({ path }) => path === at)
    if (!isTaken)
      call.service.logger.error('a registration failed, but its client got the usual response', {
        cause: thrown,
      })
    return { ...planned, isTaken: true }
  }
}

/** Delivers a verification token in the background or, if the identifier is taken, a notice to its owner. */
function tellOwner(call: Call, auth: AuthPlan, user: StoredDocument, isTaken: boolean): void {
  const to = String(readOwn(user, auth.identifier.name))
  const deliver = async (own: Call): Promise<void> => {
    if (!isTaken) return deliverMessage(own, auth, { kind: 'verification', to, user })
    const owner = await findUser(own.store, auth, to)
    if (owner) await deliverMessage(own, auth, { kind: 'already-registered', to, user: owner })
  }
  doBehind(call, deliver, lineOf('register', to))
}

/** A planned account, before it is stored, and the result of its registration. */
interface Planned {
  readonly user: StoredDocument
  readonly registered: Registered
}

/** Plans a registration for one attempt at its write. */
const planAnew = (stranger: Call, auth: AuthPlan, body: JsonObject): MaybePromise<Attempt<Planned>> =>
  attempt(stranger, { collection: auth.users, rules: [ruleToRegister(auth)] }, (own, permit) =>
    planRegistration(own, auth, permit, body),
  )

async function planRegistration(
  call: Call,
  auth: AuthPlan,
  permit: Permit,
  body: JsonObject,
): Promise<Attempt<Planned>> {
  const { service } = call
  const { users } = auth
  const required = [auth.identifier.name, auth.secret.name]
  const system = createSystemFields(call, users, service.createId())
  const draft = await runWrite(beginWrite(call, permit, 'create', { required }), { body, system })
  const { ignored, given, behind } = draft
  const user = assemble(draft)
  const shown = await showAccount(call, auth, user)
  const unread = Object.entries(given).filter(([name]) => !Object.hasOwn(shown, name))
  checkDocumentSize(call, { text: JSON.stringify(shown), unread: Object.fromEntries(unread) })
  const session = auth.requiresVerified
    ? null
    : issueSession(user._id, readStamp(user), service.now(), auth.sessionMilliseconds)
  const account = session && { user: shown, ...session.issued }
  return {
    ...planWrite({ call, collection: users, after: user }, session ? [session.step] : []),
    behind,
    done: { user, registered: { account, ignored } },
  }
}
