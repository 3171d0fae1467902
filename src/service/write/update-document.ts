import { SESSIONS, sessionFilter, sessionsOf } from '../../auth/sessions.js'
import { createStamp } from '../../auth/token.js'
import { ServiceError } from '../../errors.js'
import { and, not } from '../../filter/filter.js'
import { matches } from '../../filter/matches.js'
import { bindingOf } from '../../permissions/caller.js'
import type { Rule } from '../../permissions/grants.js'
import { bindRuleWhere, type ReadAccess } from '../../permissions/read-gate.js'
import { runSliced } from '../../slices.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { Document, JsonObject } from '../../types.js'
import { refreshSession, type Session } from '../accounts/account.js'
import { denied, gateOf, notFound, unexpected } from '../authorize.js'
import { isAccounts, type RequestScope, type ServiceContext } from '../context.js'
import { findById, lazySignal } from '../find-documents.js'
import { conflict, hashSecret } from './create-document.js'
import { findReferable, judgeReferences, referencesToHold, requireReference } from './references.js'
import { chooseRule, type Ignoring } from './rules/apply-rule.js'
import { applyUpdate, type UpdateDraft, type Updated } from './rules/apply-update.js'
import { updateStoredDocument } from './stored-document.js'
import { checkStoredSize, prepareWritten, type Writer, type Written } from './written.js'

/** CONTRACT.md §2: how often a document is read again when somebody else writes it at the same time. */
export const MAX_ATTEMPTS = 10

/** Who changes which document, under which rules. */
export interface Target extends Writer {
  readonly id: string
  /** Where the caller is signed in by a token. */
  readonly session: Session | undefined
  /** The rules of the operation that the caller may try. */
  readonly rules: readonly Rule[]
  /** Whether what the request says of the document's state holds for it as the caller may read it. */
  readonly isExpected: (shown: Document) => boolean
}

/** A document found, readable, and open to at least one rule. */
interface Found {
  readonly stored: StoredDocument
  readonly access: ReadAccess
  /** The document as the caller may read it. */
  readonly shown: Document
  readonly rules: readonly Rule[]
}

/**
 * Finds the document and judges the caller's right to change it, in the order of CONTRACT.md §2: 404 · 403 · 412. Throws
 * `not_found`, `forbidden` (`unauthenticated` for nobody) and `precondition_failed`.
 */
export async function findTarget(
  context: ServiceContext,
  scope: RequestScope,
  target: Target,
): Promise<Found> {
  const { collection, caller } = target
  const stored = await findById(context, scope, collection.name, target.id)
  const access = gateOf(context, collection, caller)
  if (!stored || !access?.isReadable(stored)) throw notFound()
  const binding = bindingOf(caller, context.clock)
  const rules = target.rules.filter((rule) => matches(bindRuleWhere(rule, caller, binding), stored))
  if (rules.length === 0) throw denied(caller)
  const shown = access.show(stored)
  if (!target.isExpected(shown)) throw unexpected()
  return { stored, access, shown, rules }
}

/** What a caller whom no rule grants the operation gets, whatever the body: 404 or 403. Always throws. */
export async function refuseUnauthorized(
  context: ServiceContext,
  scope: RequestScope,
  target: Target,
): Promise<never> {
  await findTarget(context, scope, target)
  throw denied(target.caller)
}

/**
 * Changes a document (CONTRACT.md §2, "Update"). Every attempt reads, authorises, drops and validates anew, until nobody
 * has come first. Throws what `findTarget` does, and `validation_failed`, `forbidden`, `document_too_large`,
 * `unique_violation`, `overloaded`.
 */
export async function updateDocument(
  context: ServiceContext,
  scope: RequestScope,
  target: Target,
  mode: UpdateDraft['mode'],
  body: JsonObject,
): Promise<Written> {
  const { collection, caller } = target
  const hashed = new Map<string, string>()
  let { session } = target
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const found = await findTarget(context, scope, target)
    const { stored, access, shown, rules } = found
    const now = context.clock()
    const referable = await findReferable(context, scope, { collection, caller, rules }, [body])
    const draft: Omit<UpdateDraft, 'slice'> = {
      judgeReferences: (before, after) => judgeReferences(collection, before, after, referable),
      mode,
      stored,
      shown,
      isShown: (name) => access.isShown(stored, name),
      now,
      binding: bindingOf(caller, context.clock),
    }
    const updated = await runSliced(
      (slice) =>
        chooseRule(collection, rules, body, (rule, kept) =>
          applyUpdate(collection, rule, kept, { ...draft, slice }),
        ),
      () => scope.signal,
    )
    if (!updated.writes) return { _id: stored._id, text: access.write(stored), ignored: updated.ignored }
    const hashes = await hashAll(context, scope, updated, hashed)
    const written = await replace(context, scope, { ...target, session }, found, { ...updated, hashes, now })
    if (written) return written
    // Where the session itself was written meanwhile, it may still be one.
    if (session) session = await refreshSession(context, scope, session)
  }
  throw overtaken()
}

export const overtaken = (): ServiceError =>
  new ServiceError('overloaded', 'Others keep writing this document. Try again.')

/** Secrets as hashes. An attempt after the first does not hash them again. */
async function hashAll(
  context: ServiceContext,
  scope: RequestScope,
  { secrets }: Updated,
  hashed: Map<string, string>,
): Promise<ReadonlyMap<string, string | null>> {
  const hashes = new Map<string, string | null>()
  for (const [name, secret] of secrets) {
    if (secret !== null && !hashed.has(name)) hashed.set(name, await hashSecret(context, scope, secret))
    hashes.set(name, secret === null ? null : (hashed.get(name) ?? null))
  }
  return hashes
}

/** What takes the place of the version that was read. */
interface Replacement extends Pick<Updated, 'fields' | 'given'>, Ignoring {
  readonly hashes: ReadonlyMap<string, string | null>
  /** In stored form. */
  readonly now: string
}

/** Replaces the version that was read; `undefined` where it is no more. A new secret ends the user's other sessions. */
async function replace(
  context: ServiceContext,
  scope: RequestScope,
  target: Target,
  { stored, access }: Found,
  { fields, given, ignored, hashes, now }: Replacement,
): Promise<Written | undefined> {
  const { collection, session } = target
  const { auth } = context.plan
  const isNewSecret = isAccounts(context, collection) && hashes.has(auth?.secret.name ?? '')
  const stamp = isNewSecret ? createStamp() : undefined
  const document = updateStoredDocument(stored, fields, now, { hashes, ...(stamp ? { stamp } : {}) })
  const before = (): string => access.write(stored)
  const written = prepareWritten(context, target, { document, given, ignored, before })
  checkStoredSize([document])
  const steps: WriteStep[] = [
    // Where one is gone meanwhile, the next attempt says so.
    ...referencesToHold(collection, stored, document).map(requireReference),
    { in: collection.name, replace: document, version: stored._version },
  ]
  if (stamp) steps.push(...endOtherSessions(stored._id, stamp, session))
  scope.enter('write')
  const result = await context.adapter.write(steps, lazySignal(scope))
  if (result.ok) return written
  if (result.reason === 'unique') throw conflict(result.fields ?? [])
  return undefined
}

/** All sessions of a user go; one that changes its own secret stays, with the new stamp. */
function endOtherSessions(userId: string, stamp: string, session: Session | undefined): readonly WriteStep[] {
  if (session?.user._id !== userId) return [{ in: SESSIONS, remove: sessionsOf(userId) }]
  const { stored } = session
  return [
    { in: SESSIONS, replace: { ...stored, stamp, _version: stored._version + 1 }, version: stored._version },
    { in: SESSIONS, remove: and([sessionsOf(userId), not(sessionFilter(session.id))]) },
  ]
}
