import { unverify } from '../../accounts/account.js'
import { createStamp } from '../../accounts/auth/token.js'
import { endByNewSecret } from '../../accounts/end-sessions.js'
import type { Collection } from '../../config/plan.js'
import { askHook, type SettledWrite, whereHooked } from '../../hooks/where-hooked.js'
import { whenReady } from '../../promises.js'
import { planAgreements } from '../../references/matches.js'
import {
  findReferable,
  judgeMatching,
  judgeReferences,
  type Referable,
  referencesToHold,
  requireReference,
} from '../../references/references.js'
import { attempt, type Permit } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import type { Attempt } from '../../request/store/attempt.js'
import { runWithin } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { type FoundTarget, findTarget, type WriteTarget } from './find-target.js'
import { hashSecrets, refuseSecrets } from './hash-secrets.js'
import { applyUpdate, type UpdateDraft, type Updated } from './rules/apply-update.js'
import { chooseRule, type Ignoring } from './rules/choose-rule.js'
import { conflictFor, faultSeen, type Seen } from './rules/redact.js'
import { readStamp, updateStoredDocument } from './stored-document.js'
import {
  checkStoredSize,
  prepareWritten,
  tellOneAgain,
  type WrittenDocument,
  writeBefore,
} from './written.js'

/** An update: its mode and its body. */
export interface UpdateRequest {
  readonly mode: UpdateDraft['mode']
  readonly body: JsonObject
}

/**
 * Updates a document (CONTRACT.md §2, "Update"). If a concurrent write comes first, tries again: each attempt reads
 * the document, authorizes the caller, drops properties and validates. Throws the errors of `findTarget`, and
 * `validation_failed`, `forbidden`, `document_too_large`, `unique_violation`, `overloaded`.
 */
export function updateDocument(
  call: Call,
  target: WriteTarget,
  change: UpdateRequest,
): MaybePromise<WrittenDocument> {
  const hashed = new Map<string, string>()
  return whereHooked(call, target.collection, (all) => updateIn(all, target, change, hashed), tellOneAgain)
}

const updateIn = (
  call: Call,
  target: WriteTarget,
  change: UpdateRequest,
  hashed: Map<string, string>,
): MaybePromise<WrittenDocument> =>
  call.store.write(() => attempt(call, target, (own, present) => planUpdate(own, present, change, hashed)))

const planUpdate = (
  call: Call,
  target: WriteTarget,
  change: UpdateRequest,
  hashed: Map<string, string>,
): MaybePromise<Attempt<WrittenDocument>> =>
  whenReady(findTarget(call, target), (found) => {
    const { now } = call.binding
    return whenReady(judgeChange(call, target, { found, now, ...change }), (updated) =>
      settle(call, target, hashed, { found, now, ...updated }),
    )
  })

/** Calls the hook for a granted update, hashes the secrets, and plans the write. */
function settle(
  call: Call,
  target: WriteTarget,
  hashed: Map<string, string>,
  granted: Omit<Replacement, 'hashes'> & Pick<Updated, 'writes' | 'secrets'>,
): MaybePromise<Attempt<WrittenDocument>> {
  const { found, now, fields, secrets, ignored } = granted
  const { stored, access } = found
  if (!granted.writes) return { steps: [], done: { _id: stored._id, text: access.write(stored), ignored } }
  return whenReady(askUpdateHook(call, target.collection, stored, { fields, now }), (settled) =>
    whenReady(secrets.size > 0 ? hashSecrets(call, secrets, hashed) : NO_HASHES, (hashes) =>
      planReplacement(call, target, { ...granted, ...settled, hashes }),
    ),
  )
}

/** Calls the hook of a collection for the next version of a document. `now` is the current time in stored form. */
export function askUpdateHook(
  call: Call,
  collection: Collection,
  stored: StoredDocument,
  { fields, now }: { readonly fields: JsonObject; readonly now: string },
): Promise<SettledWrite> | undefined {
  if (!call.service.hooks?.has(collection.name)) return undefined
  const { _id, createdAt, createdBy } = stored
  const system = { _id, createdAt, updatedAt: now, createdBy }
  const asking = askHook(call, { collection, before: stored, after: { fields, system } })
  const { accounts } = call.service
  if (!asking || accounts?.users.name !== collection.name) return asking
  return asking.then((settled) => ({ ...settled, fields: unverify(accounts, fields, settled.fields) }))
}

/** A document and its next version. */
interface Versions {
  readonly before: StoredDocument
  /** The properties that count as changed regardless of the stored value, with their new values. Default: none. */
  readonly renewed?: ReadonlyMap<string, unknown>
  readonly after: StoredDocument
  /** The parts of the document that the caller knows. Default: none. */
  readonly seen?: Seen
}

/**
 * Plans the replacement of a document with its next version. Throws `document_too_large`; the write may later throw
 * `unique_violation`.
 */
export function planReplace(
  call: Call,
  collection: Collection,
  { before, after, renewed, seen }: Versions,
): Required<Pick<Attempt<unknown>, 'steps' | 'agreements' | 'refuse'>> {
  checkStoredSize([after])
  return {
    steps: [
      // If a referenced document was deleted, these steps fail, and the next attempt reports the invalid reference.
      ...referencesToHold(collection, before, after, renewed).map(requireReference),
      { in: collection.name, replace: after, version: before._version },
    ],
    agreements: planAgreements(call.service.plan, collection, {
      before,
      after,
      asker: call,
      ...(renewed ? { renewed } : {}),
      ...(seen ? { seen } : {}),
    }),
    refuse({ reason, fields = [] }) {
      if (reason === 'unique') throw conflictFor(call, collection, fields)
    },
  }
}

const NO_HASHES: ReadonlyMap<string, string | null> = new Map()

/** An update of a document that was found. */
interface FoundChange extends UpdateRequest {
  readonly found: FoundTarget
  /** The current time, in stored form. */
  readonly now: string
}

const judgeChange = (
  call: Call,
  { collection }: WriteTarget,
  change: FoundChange,
): MaybePromise<Updated & Ignoring> => {
  const { mode, body, found } = change
  const permit = { collection, rules: found.rules }
  const finding = findReferable(call, permit, [body], { stored: found.stored, mode })
  return whenReady(finding, (referable) => {
    const draft = draftUpdate(call, collection, change, referable)
    const judging = runWithin(call, (slice) => chooseUpdate(call, permit, body, { slice, ...draft }))
    return whenReady(judging, (updated) => {
      refuseSecrets(call, collection, updated.given)
      return updated
    })
  })
}

const chooseUpdate = (call: Call, permit: Permit, body: JsonObject, draft: UpdateDraft) =>
  chooseRule(call, permit, body, {
    slice: draft.slice,
    apply: (trial) => applyUpdate(call, trial, draft),
  })

function draftUpdate(
  call: Call,
  collection: Collection,
  { mode, found: { stored, access, shown }, now }: FoundChange,
  referable: Referable,
): Omit<UpdateDraft, 'slice'> {
  const isShown = (name: string): boolean => access.isShown(stored, name)
  return {
    judgeReferences: (before, after, tells) =>
      judgeReferences(collection, before, after, { referable, tells }),
    judgeMatches: ({ after, unseen }, given, tells) =>
      judgeMatching(
        call,
        collection,
        { before: stored, after: { ...after, _id: stored._id }, renewed: unseen },
        { referable, tells, describe: (reference) => faultSeen(reference, { given, isShown }) },
      ),
    isShown,
    mode,
    stored,
    shown,
    now,
  }
}

/** The new version of a document that was read, and the details of its write. */
interface Replacement extends Pick<Updated, 'given' | 'unseen'>, Ignoring, SettledWrite {
  readonly found: FoundTarget
  readonly hashes: ReadonlyMap<string, string | null>
  readonly now: string
}

function planReplacement(
  call: Call,
  { collection }: WriteTarget,
  { found: { stored, access }, fields, behind, given, unseen, ignored, hashes, now }: Replacement,
): MaybePromise<Attempt<WrittenDocument>> {
  const { accounts } = call.service
  const isAccount = accounts?.users.name === collection.name
  return whenReady(isAccount ? endByNewSecret(call, accounts, stored, hashes) : undefined, (taken) => {
    // The host keeps the accounts now, but the service may keep them again later. Sessions that were opened with the
    // old secret must then remain ended, so the stamp changes.
    const isFormer = !isAccount && hashes.size > 0 && readStamp(stored) !== ''
    const stamp = isFormer ? createStamp() : taken?.stamp
    const document = updateStoredDocument(stored, fields, now, { hashes, stamp })
    const before = writeBefore(call, collection, stored)
    const done = prepareWritten(call, { collection, document, given, ignored, before })
    const { steps, agreements, refuse } = planReplace(call, collection, {
      before: stored,
      after: document,
      renewed: unseen,
      seen: { given, isShown: (name) => access.isShown(stored, name) },
    })
    if (!taken) return { steps, agreements, refuse, done, behind }
    return { steps: [...steps, ...taken.steps], agreements, refuse, done, behind, after: taken.after }
  })
}
