import type { WriteStep } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { type Call, runWithin } from '../call.js'
import type { Attempt } from '../store.js'
import { type Found, findTarget, type Target } from './find-target.js'
import { hashSecrets, refuseSecrets } from './hash-secrets.js'
import { findReferable, judgeReferences, referencesToHold, requireReference } from './references.js'
import { applyUpdate, type UpdateDraft, type Updated } from './rules/apply-update.js'
import { chooseRule, type Ignoring } from './rules/choose-rule.js'
import { updateStoredDocument } from './stored-document.js'
import { checkStoredSize, prepareWritten, type Written } from './written.js'

/** An update: its mode and its body. */
export interface Change {
  readonly mode: UpdateDraft['mode']
  readonly body: JsonObject
}

/**
 * Changes a document (CONTRACT.md §2, "Update"). Every attempt reads, authorises, drops and validates anew,
 * until no other write comes first. Throws what `findTarget` does, and `validation_failed`, `forbidden`,
 * `document_too_large`, `unique_violation`, `overloaded`.
 */
export function updateDocument(call: Call, target: Target, change: Change): MaybePromise<Written> {
  const hashed = new Map<string, string>()
  return call.store.write(async () => {
    const found = await findTarget(call, target)
    const now = call.service.clock()
    const updated = await judgeChange(call, target, { ...change, found, now })
    const { stored, access } = found
    if (!updated.writes)
      return { steps: [], done: { _id: stored._id, text: access.write(stored), ignored: updated.ignored } }
    const { secrets } = updated
    const hashes = secrets.size > 0 ? await hashSecrets(call, secrets, hashed) : NO_HASHES
    return planReplacement(call, target, { ...updated, found, hashes, now })
  })
}

const NO_HASHES: ReadonlyMap<string, string | null> = new Map()

/** A change of a document that was found. */
interface FoundChange extends Change {
  readonly found: Found
  /** In stored form. */
  readonly now: string
}

async function judgeChange(
  call: Call,
  { collection }: Target,
  { mode, body, found, now }: FoundChange,
): Promise<Updated & Ignoring> {
  const { stored, access, shown, rules } = found
  const permit = { collection, rules }
  const referable = await findReferable(call, permit, [body])
  const draft: Omit<UpdateDraft, 'slice'> = {
    judgeReferences: (before, after) => judgeReferences(collection, before, after, referable),
    isShown: (name) => access.isShown(stored, name),
    ...{ mode, stored, shown, now },
  }
  const updated = await runWithin(call, (slice) =>
    chooseRule(permit, body, (trial) => applyUpdate(call, trial, { slice, ...draft })),
  )
  refuseSecrets(call, collection, updated.given)
  return updated
}

/** What replaces the version that was read. */
interface Replacement extends Pick<Updated, 'fields' | 'given'>, Ignoring {
  readonly found: Found
  readonly hashes: ReadonlyMap<string, string | null>
  readonly now: string
}

async function planReplacement(
  call: Call,
  { collection }: Target,
  { found: { stored, access }, fields, given, ignored, hashes, now }: Replacement,
): Promise<Attempt<Written>> {
  const attachment = call.service.attachments.get(collection.name)
  const taken = await attachment?.takeWithUpdate(call, stored, hashes)
  const document = updateStoredDocument(stored, fields, now, { hashes, stamp: taken?.stamp })
  const before = (): string => access.write(stored)
  const done = prepareWritten(call, { collection, document, given, ignored, before })
  checkStoredSize([document])
  const steps: readonly WriteStep[] = [
    // If a referenced document is gone by now, the next attempt reports it.
    ...referencesToHold(collection, stored, document).map(requireReference),
    { in: collection.name, replace: document, version: stored._version },
    ...(taken?.steps ?? []),
  ]
  return { steps, done }
}
