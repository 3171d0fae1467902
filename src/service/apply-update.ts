import type { Collection } from '../config/plan.js'
import type { Fault } from '../errors.js'
import { isObject, readOwn } from '../filter/read-path.js'
import type { Rule } from '../permissions/grants.js'
import { acceptsProperty, bindSet, type Kept } from '../permissions/write-rules.js'
import type { Binding } from '../query/variable.js'
import { findImmutableChanges, immutable, isChange, mergePatch } from '../schema/changes.js'
import type { Field } from '../schema/field.js'
import { isFieldName, toPointerPart } from '../schema/names.js'
import { applyDefaults, normalise, normalisePatch } from '../schema/normalise.js'
import { MAX_FAULTS } from '../schema/validator.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'
import { type Applied, blame, isChecked } from './apply-rule.js'
import { readFields } from './stored-document.js'

/** An update to be. */
export interface UpdateDraft {
  /** PATCH merges a body into the document; PUT replaces what the rule accepts and the caller may read of it. */
  readonly mode: 'patch' | 'put'
  readonly stored: StoredDocument
  /** Whether the caller may read a property of this document. */
  readonly isShown: (name: string) => boolean
  /** The time in stored form. */
  readonly now: string
  readonly binding: Binding
  /** The faults of what the document would refer to, and did not before. */
  readonly judgeReferences: (before: JsonObject, after: JsonObject) => readonly Fault[]
}

/** What an update makes of a document. */
export interface Updated {
  /** False for a PATCH that keeps nothing of its body: it writes nothing. */
  readonly writes: boolean
  readonly fields: JsonObject
  /** Secrets in clear by field, `null` for one that goes. */
  readonly secrets: ReadonlyMap<string, string | null>
}

/** Applies what a rule kept of a body to a stored document, validates what that changes, and checks it (contract §2, §5). */
export function applyUpdate(
  collection: Collection,
  rule: Rule,
  kept: Kept,
  draft: UpdateDraft,
): Applied<Updated> {
  const { stored, binding, now, mode } = draft
  const before = readFields(stored)
  const writes = mode === 'put' || Object.keys(kept.body).length > 0
  if (!writes) return { kind: 'fits', writes, fields: before, secrets: new Map() }
  const set = bindSet(rule, binding)
  if (!set) return { kind: 'refused' }
  const body: JsonObject = { ...kept.body, ...set }
  const replaced = mode === 'put' ? findReplaced(collection, rule, draft) : new Set<string>()
  const after = orderFields(collection, buildFields(collection, before, body, replaced, draft))
  const known = [
    ...findImmutableFaults(collection, before, after, kept.body, draft),
    ...findMissingSecrets(collection, body),
    ...draft.judgeReferences(withoutGuesses(before, body, draft), after),
    ...(mode === 'patch' ? findUnknownNulls(collection.fields, body, collection.additionalProperties) : []),
  ]
  const isRelevant = (fault: Fault): boolean => isChange(fault, body, before, after)
  const faults = collection.validate(after, { known: known.slice(0, MAX_FAULTS), isRelevant })
  if (faults.length > 0) return blame(collection, rule, faults)

  const hashNames = new Set(collection.hashes.map(({ name }) => name))
  const secrets = new Map(
    Object.entries(body).flatMap(([name, value]): [string, string | null][] =>
      hashNames.has(name) ? [[name, value === null ? null : String(value)]] : [],
    ),
  )
  const fields = Object.fromEntries(Object.entries(after).filter(([name]) => !hashNames.has(name)))
  const { _id, createdAt, createdBy } = stored
  if (!isChecked(rule, { ...fields, _id, createdAt, createdBy, updatedAt: now }, binding))
    return { kind: 'refused' }
  return { kind: 'fits', writes, fields, secrets }
}

/** What was there before, without what the body names unseen: else a right guess would be told from a wrong one. */
const withoutGuesses = (before: JsonObject, body: JsonObject, { isShown }: UpdateDraft): JsonObject =>
  withoutNamed(before, Object.fromEntries(Object.entries(body).filter(([name]) => !isShown(name))))

/** An object without what another one names, inside objects too. */
const withoutNamed = (value: JsonObject, named: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      if (!Object.hasOwn(named, name)) return [[name, inner]]
      const other = named[name]
      return isObject(inner) && isObject(other) ? [[name, withoutNamed(inner, other)]] : []
    }),
  )

/** What a PUT takes the place of: all that its rule accepts and its caller may read, but what is set once or by few. */
function findReplaced(
  collection: Collection,
  rule: Rule,
  { stored, isShown }: UpdateDraft,
): ReadonlySet<string> {
  const kept = new Set(
    collection.fields.flatMap(({ name, type, definition }) =>
      type === 'hash' || definition.immutable ? [name] : [],
    ),
  )
  const declared = collection.fields.map(({ name }) => name)
  const undeclared = collection.additionalProperties ? Object.keys(readFields(stored)) : []
  return new Set(
    [...declared, ...undeclared].filter(
      (name) =>
        !kept.has(name) &&
        name !== collection.roleField &&
        isShown(name) &&
        acceptsProperty(rule, name, collection.roleField),
    ),
  )
}

/** The fields after the update; secrets among them in clear. */
function buildFields(
  collection: Collection,
  before: JsonObject,
  body: JsonObject,
  replaced: ReadonlySet<string>,
  { mode, now }: UpdateDraft,
): JsonObject {
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const after = new Map(Object.entries(before).filter(([name]) => !replaced.has(name)))
  for (const name of replaced) {
    const [field, old] = [byName.get(name), readOwn(before, name)]
    // Of an object that goes stays what a PUT cannot speak of.
    const left = field && isObject(old) ? carryOver(field, old, {}) : {}
    if (isObject(left) && Object.keys(left).length > 0) after.set(name, left)
  }
  for (const [name, value] of Object.entries(body)) {
    const [field, old] = [byName.get(name), readOwn(before, name)]
    const present = mode === 'patch' ? patchValue(field, old, value) : putValue(field, old, value)
    if (present === undefined) after.delete(name)
    else after.set(name, present)
  }
  if (mode === 'patch') return Object.fromEntries(after)
  const named = collection.fields.filter(({ name }) => replaced.has(name) || Object.hasOwn(body, name))
  return applyDefaults(named, Object.fromEntries(after), now)
}

/** The value after a PATCH; `undefined` where it removes. */
const patchValue = (field: Field | undefined, before: unknown, patch: unknown): unknown =>
  patch === null ? undefined : mergePatch(before, field ? normalisePatch(field, patch) : patch)

/** The value after a PUT, for which `null` is a value like any other. */
const putValue = (field: Field | undefined, before: unknown, value: unknown): unknown =>
  field ? carryOver(field, before, normalise(field, value)) : value

/** What a PUT of an object cannot speak of, because its caller does not see it or it is set once, stays inside it. */
function carryOver(field: Field, before: unknown, after: unknown): unknown {
  if (field.type !== 'object' || !isObject(before) || !isObject(after)) return after
  const properties = new Map(field.properties.map((property) => [property.name, property]))
  const carried = new Map(Object.entries(after))
  for (const [name, value] of Object.entries(before)) {
    const property = properties.get(name)
    if (!carried.has(name)) {
      if (!property || property.definition.immutable) carried.set(name, value)
    } else if (property) carried.set(name, carryOver(property, value, carried.get(name)))
  }
  return Object.fromEntries(carried)
}

/** Declared fields in the schema's order, then the others. */
function orderFields(collection: Collection, fields: JsonObject): JsonObject {
  const declared = collection.fields.map(({ name }) => name).filter((name) => Object.hasOwn(fields, name))
  return Object.fromEntries(
    [...new Set([...declared, ...Object.keys(fields)])].map((name) => [name, fields[name]]),
  )
}

/** An immutable property may be named where its caller sees it, with the value that it has. */
function findImmutableFaults(
  collection: Collection,
  before: JsonObject,
  after: JsonObject,
  body: JsonObject,
  { isShown }: UpdateDraft,
): readonly Fault[] {
  const unseen = collection.fields.filter(
    ({ name, definition }) => definition.immutable && Object.hasOwn(body, name) && !isShown(name),
  )
  return [
    ...unseen.map(({ name }) => immutable(toPointerPart(name))),
    ...findImmutableChanges(collection.fields, before, after),
  ]
}

/** A name that a PATCH would remove, though the schema has no such name: nothing else shows that it was misspelt. */
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
    return isKnown ? [] : [{ path, code: 'unknown_property', message: 'is not in the schema' }]
  })
}

/** Secrets are not among the stored fields, so the validator does not see that a required one goes. */
const findMissingSecrets = (collection: Collection, body: JsonObject): readonly Fault[] =>
  collection.hashes.flatMap(({ name, definition }) =>
    definition.required && Object.hasOwn(body, name) && body[name] === null
      ? [{ path: toPointerPart(name), code: 'required', message: 'is required' }]
      : [],
  )
