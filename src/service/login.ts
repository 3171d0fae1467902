import { issueSession } from '../auth/sessions.js'
import type { AuthPlan } from '../config/plan.js'
import { type Fault, ServiceError } from '../errors.js'
import type { JsonObject } from '../filter/read-path.js'
import { MAX_SECRET_BYTES } from '../schema/body-schema.js'
import { isStorableText } from '../schema/json-domain.js'
import { countBytes } from '../schema/json-schema.js'
import { suggest, toPointerPart } from '../schema/names.js'
import { normalise } from '../schema/normalise.js'
import type { StoredDocument } from '../storage.js'
import { type SignedIn, showAccount } from './account.js'
import type { RequestScope, ServiceContext } from './context.js'
import { invalid } from './create-document.js'
import { findOne, lazySignal } from './list-documents.js'
import { readHash } from './stored-document.js'

/**
 * Opens a session for the right secret (contract §4, "Login"). An unknown identifier and a wrong secret take the same
 * steps and get the same `invalid_credentials`. Throws `validation_failed` for a body that is no pair of credentials.
 */
export async function login(
  context: ServiceContext,
  scope: RequestScope,
  auth: AuthPlan,
  body: JsonObject,
  decoy: string,
): Promise<SignedIn> {
  const { identifier, secret } = readCredentials(auth, body)
  const user = await findUser(context, scope, auth, identifier)
  const hash = (user && readHash(user, auth.secret.name)) ?? decoy
  // A secret that could not be stored is a wrong one: it costs as much, and never reaches a stored hash.
  const isStorable = isStorableText(secret) && countBytes(secret) <= MAX_SECRET_BYTES
  scope.enter('hash')
  const isRight = await context.hasher.verify(
    isStorable ? secret : '',
    isStorable ? hash : decoy,
    scope.signal,
  )
  if (!user || !isStorable || !isRight) {
    throw new ServiceError('invalid_credentials', 'No account has these credentials.')
  }
  const { issued, step } = issueSession(user._id, context.now(), auth.sessionMilliseconds)
  scope.enter('write')
  await context.adapter.write([step], lazySignal(scope))
  return { user: showAccount(context, auth, user), ...issued }
}

function readCredentials(
  auth: AuthPlan,
  body: JsonObject,
): { readonly identifier: string; readonly secret: string } {
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
  const value = normalise(auth.identifier, identifier)
  if (!ref || typeof value !== 'string' || !isStorableText(value)) return undefined
  return findOne(context, scope, auth.users.name, { filter: { kind: 'eq', field: ref, value } })
}
