import { issueSession } from '../../auth/sessions.js'
import { digestToken } from '../../auth/token.js'
import type { AuthPlan } from '../../config/plan.js'
import { type Fault, ServiceError } from '../../errors.js'
import { isStorableText } from '../../json/domain.js'
import { toPointerPart } from '../../json/pointer.js'
import { MAX_SECRET_BYTES } from '../../schema/body-schema.js'
import { countBytes } from '../../schema/json-schema.js'
import { suggest } from '../../schema/names.js'
import { normalise } from '../../schema/normalise.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { findOne, lazySignal } from '../find-documents.js'
import { invalid } from '../write/rules/apply-rule.js'
import { readHash, readStamp } from '../write/stored-document.js'
import { removeExpired, type SignedIn, showAccount } from './account.js'

/**
 * Opens a session for the right secret (CONTRACT.md §4, "Login"). An unknown identifier and a wrong secret take the same
 * steps and get the same `invalid_credentials`. Throws `validation_failed` for a body that is no pair of credentials,
 * `too_many_attempts`, and `overloaded`.
 */
export async function login(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  body: JsonObject,
  origin: LoginOrigin,
): Promise<SignedIn> {
  const credentials = readCredentials(auth, body)
  const identifier = String(normalise(auth.identifier, credentials.identifier))
  const client = origin.client()
  // Of the same length whatever was sent, because they are kept.
  const from = { identifier: digestToken(identifier), client: client && digestToken(client) }
  scope.enter('hash')
  const user = await context.throttle.run(
    from,
    async () => verify(context, scope, auth, { ...credentials, identifier }, await origin.decoy()),
    scope,
  )
  const session = issueSession(user._id, readStamp(user), context.now(), auth.sessionMilliseconds)
  const expired = await removeExpired(context, scope)
  scope.enter('write')
  await context.adapter.write([session.step, ...expired], lazySignal(scope))
  return { user: showAccount(context, auth, user), ...session.issued }
}

/** What a login needs to know of where it comes from. */
export interface LoginOrigin {
  /** The client's address; `undefined` where nobody knows it. */
  readonly client: () => string | undefined
  /** What a secret is compared with where there is no account. */
  readonly decoy: () => Promise<string>
}

interface Credentials {
  readonly identifier: string
  readonly secret: string
}

/** The user whose credentials these are. Throws `invalid_credentials`, after one hash in any case. */
async function verify(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  { identifier, secret }: Credentials,
  decoy: string,
): Promise<StoredDocument> {
  const user = await findUser(context, scope, auth, identifier)
  // A secret that could not be stored is a wrong one: it costs as much, and never reaches a stored hash.
  const isStorable = isStorableText(secret) && countBytes(secret) <= MAX_SECRET_BYTES
  const hash = user && isStorable ? readHash(user, auth.secret.name) : undefined
  scope.enter('hash')
  const isRight = await context.hasher.verify(isStorable ? secret : '', hash ?? decoy, scope.signal)
  if (user && hash !== undefined && isRight) return user
  throw new ServiceError('invalid_credentials', 'No account has these credentials.')
}

function readCredentials(auth: AuthPlan, body: JsonObject): Credentials {
  const names = [auth.identifier.name, auth.secret.name]
  const faults: Fault[] = []
  for (const name of names) {
    if (!Object.hasOwn(body, name))
      faults.push({ path: `/${name}`, code: 'required', message: 'is required' })
    else if (typeof body[name] !== 'string') {
      faults.push({ path: `/${name}`, code: 'wrong_type', message: 'must be a string' })
    }
  }
  for (const name of Object.keys(body).slice(0, 10)) {
    if (names.includes(name)) continue
    const message = `is no credential${suggest(name, names)}`
    faults.push({ path: toPointerPart(name.slice(0, 64)), code: 'unknown_property', message })
  }
  if (faults.length > 0) throw invalid(faults)
  const [identifier, secret] = names.map((name) => body[name] as string)
  return { identifier: identifier ?? '', secret: secret ?? '' }
}

async function findUser(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  identifier: string,
): Promise<StoredDocument | undefined> {
  const { ref } = auth.identifier
  // What no document can hold is not asked for.
  if (!ref || !isStorableText(identifier)) return undefined
  return findOne(context, scope, auth.users.name, { kind: 'eq', field: ref, value: identifier })
}
