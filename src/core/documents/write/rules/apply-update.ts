import { unverify } from '../../../accounts/account.js'
import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import type { Field } from '../../../fields/field-type.js'
import { findImmutableChanges, holdsImmutable, immutable, isChange } from '../../../fields/schema/changes.js'
import { isFieldName } from '../../../fields/schema/names.js'
import { normaliseUpdate, type Update, updateFields } from '../../../fields/schema/update-fields.js'
import { MAX_FAULTS, MAX_PATH } from '../../../fields/schema/validator.js'
import { isObject, pickWhere, readOwn } from '../../../json/own-properties.js'
import { toPointerPart } from '../../../json/pointer.js'
import { acceptsProperty, bindSet } from '../../../permissions/write-rules.js'
import { isAnywhere } from '../../../query/where.js'
import type { Call } from '../../../request/call.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import type { Document, JsonObject } from '../../../types.js'
import { readFields } from '../stored-document.js'
import {
  type Applied,
  cutUndeclared,
  FaultCollector,
  firstOfEach,
  type Tells,
  type Trial,
} from './choose-rule.js'

/** The context of an update. */
export interface UpdateDraft {
  /** PATCH merges the body into the document; PUT replaces what the rule accepts and the caller may read. */
  readonly mode: Update['mode']
  readonly stored: StoredDocument
  /** The document as the caller may read it. */
  readonly shown: Document
  /** Whether the caller may read a property of this document. */
  readonly isShown: (name: string) => boolean
  /** The current time, in stored form. */
  readonly now: string
  /** The time slice for the evaluation. */
  readonly slice: Slice
  /** Returns the validation errors of references that the document did not have before. */
  readonly judgeReferences: (before: JsonObject, after: JsonObject, tells: Tells) => readonly Fault[]
  /** Returns the validation errors of references that do not match in the document as it would be stored. */
  readonly judgeMatches: (next: Next, given: JsonObject, tells: Tells) => readonly Fault[]
}

/** The result of an update. */
export interface Updated {
  /** False for a PATCH if the rule keeps nothing of its body: then nothing is written. */
  readonly writes: boolean
  readonly fields: JsonObject
  /** Plain-text secrets by field; `null` removes a secret. */
  readonly secrets: ReadonlyMap<string, string | null>
  /** The values from the body and the rule's `set`. */
  readonly given: JsonObject
  /**
   * The new values of properties in the body that the caller may not read, computed as if no value were stored. They
   * count as changed regardless of the stored value. `undefined` for a removed property.
   */
  readonly unseen: ReadonlyMap<string, unknown>
}

/**
 * Applies the properties of a body that a rule kept to a stored document, validates the changes, and evaluates the
 * `check` (CONTRACT.md §2, §5). Validates the document as the caller sees it, and then applies the update to the
 * stored document. So only the `check` can depend on values that the caller may not read.
 */
export function* applyUpdate(call: Call, trial: Trial, draft: UpdateDraft): Sliced<Applied<Updated>> {
  const { collection, rule, kept } = trial
  const { stored, now, mode } = draft
  const writes = mode === 'put' || Object.keys(kept.body).length > 0
  if (!writes) {
    const nothing = { secrets: new Map(), given: {}, unseen: NOTHING }
    return { kind: 'fits', writes, fields: readFields(stored), ...nothing }
  }
  const set = bindSet(rule, call)
  if (!set) return { kind: 'refused' }
  const body = cutUndeclared(collection, kept.body)
  const given: JsonObject = rule.set.size > 0 ? { ...body, ...set } : body
  const update: Update = {
    mode,
    named: normaliseUpdate(collection.fields, mode, given),
    replaced: mode === 'put' ? findReplaced(trial, draft) : NONE,
    now,
  }
  const after = updateFields(collection.fields, readFields(stored), update)
  const unseen = findUnseen(collection, given, update, draft)
  const next = { after, unseen }
  const collector = new FaultCollector(call, trial)
  const faults = yield* judgeUpdate(collection, given, update, { next, tells: collector.tells, ...draft })
  const unfitting = collector.judge(faults)
  if (unfitting) return unfitting

  const secrets = readSecrets(collection, given)
  const written = secrets.size > 0 ? pickWhere(after, (name) => !secrets.has(name)) : after
  const { accounts } = call.service
  const isAccount = accounts?.users.name === collection.name
  const fields = isAccount ? unverify(accounts, stored, written, unseen) : written
  const { _id, createdAt, createdBy } = stored
  return isAnywhere(rule.check) ||
    call.judge.admits(rule, { ...fields, _id, createdAt, createdBy, updatedAt: now })
    ? { kind: 'fits', writes, fields, secrets, given, unseen }
    : { kind: 'refused' }
}

function readSecrets({ hashes }: Collection, given: JsonObject): Updated['secrets'] {
  const named = hashes.map(({ name }) => name).filter((name) => Object.hasOwn(given, name))
  return new Map(named.map((name) => [name, given[name] === null ? null : String(given[name])]))
}

const NONE: ReadonlySet<string> = new Set()

/** Returns the new values of properties that are hidden from the caller, computed as if no value were stored. */
function findUnseen(
  { fields }: Collection,
  given: JsonObject,
  update: Update,
  { shown, isShown }: UpdateDraft,
): Updated['unseen'] {
  const names = Object.keys(given).filter((name) => !isShown(name))
  if (names.length === 0) return NOTHING
  const after = updateFields(fields, readFields(shown), update)
  return new Map(names.map((name) => [name, readOwn(after, name)]))
}

const NOTHING: Updated['unseen'] = new Map()

/** The document as it would be stored. */
interface Next extends Pick<Updated, 'unseen'> {
  readonly after: JsonObject
}

interface UpdateJudging extends UpdateDraft {
  readonly next: Next
  readonly tells: Tells
}

/** Returns the validation errors of an update of the document as shown: hidden properties count as missing. */
function* judgeUpdate(
  collection: Collection,
  given: JsonObject,
  update: Update,
  { next, shown, isShown, judgeReferences, judgeMatches, mode, slice, tells }: UpdateJudging,
): Sliced<readonly Fault[]> {
  const { fields } = collection
  const unseen = fields.filter(
    ({ name, type }) => Object.hasOwn(given, name) && (type === 'hash' || !isShown(name)),
  )
  // A hidden immutable property in a body always causes a validation error: otherwise the stored value could be
  // guessed.
  const closed = unseen.filter(holdsImmutable)
  const open = omitFields(given, closed)
  const before = readFields(shown)
  const after = updateFields(fields, before, { ...update, named: omitFields(update.named, closed) })
  const missing = unseen.filter(
    (field) => field.definition.required && !closed.includes(field) && !Object.hasOwn(after, field.name),
  )
  const known = [
    ...closed.map(({ name }) => immutable(toPointerPart(name))),
    ...missing.map(
      ({ name }): Fault => ({ path: toPointerPart(name), code: 'required', message: 'is required' }),
    ),
    ...findImmutableChanges(fields, before, after),
    ...judgeReferences(before, after, tells),
    ...judgeMatches(next, given, tells),
    ...(mode === 'patch' ? findUnknownNulls(fields, open, collection.additionalProperties) : []),
  ]
  return yield* collection.validate.inSlices(after, slice, {
    known: firstOfEach(known.filter(tells)).slice(0, MAX_FAULTS),
    isRelevant: (fault) => isChange(fault, open, before, after) && tells(fault),
  })
}

const omitFields = (values: JsonObject, fields: readonly Field[]): JsonObject =>
  fields.length === 0 ? values : pickWhere(values, (name) => fields.every((field) => field.name !== name))

/**
 * Returns the properties that a PUT replaces: those that its rule accepts and its caller may read, except secrets,
 * immutable fields and the role field.
 */
function findReplaced({ collection, rule }: Trial, { shown, isShown }: UpdateDraft): ReadonlySet<string> {
  const kept = new Set(
    collection.fields.flatMap(({ name, type, definition }) =>
      type === 'hash' || definition.immutable ? [name] : [],
    ),
  )
  const declared = collection.fields.map(({ name }) => name)
  const undeclared = collection.additionalProperties ? Object.keys(readFields(shown)) : []
  return new Set(
    [...declared, ...undeclared].filter(
      (name) =>
        !kept.has(name) &&
        name !== collection.roleField &&
        isShown(name) &&
        acceptsProperty(rule, name, collection),
    ),
  )
}

/**
 * Returns a validation error for each unknown name that a PATCH sets to `null`. Without the error, a misspelt name
 * would go unnoticed.
 */
function findUnknownNulls(
  fields: readonly Field[],
  patch: JsonObject,
  additionalProperties: boolean,
  at = '',
): readonly Fault[] {
  const byName = new Map(fields.map((field) => [field.name, field]))
  return Object.entries(patch).flatMap(([name, value]): readonly Fault[] => {
    const path = at + toPointerPart(name)
    const field = byName.get(name)
    if (field?.type === 'object' && isObject(value))
      return findUnknownNulls(field.properties, value, false, path)
    const isKnown = field !== undefined || value !== null || (additionalProperties && isFieldName(name))
    return isKnown
      ? []
      : [{ path: path.slice(0, MAX_PATH), code: 'unknown_property', message: 'is not in the schema' }]
  })
}
