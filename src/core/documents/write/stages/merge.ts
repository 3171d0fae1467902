import type { Field } from '../../../fields/field-type.js'
import { holdsImmutable } from '../../../fields/schema/changes.js'
import { normaliseUpdate, type Update, updateFields } from '../../../fields/schema/update-fields.js'
import { pickWhere, readOwn } from '../../../json/own-properties.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import type { Document, JsonObject } from '../../../types.js'
import type { Draft, Stage } from '../draft.js'
import { readFields } from '../stored-document.js'
import { required } from './values.js'

/**
 * Applies an update to the stored document, and to the document as its caller may read it (CONTRACT.md §2). The latter
 * is validated, so only `check` can depend on values that the caller may not read. PATCH merges the body into the
 * document; PUT replaces what the rule accepts and the caller may read.
 */
export const merge: Stage = {
  name: 'merge',
  judge(draft) {
    const { collection, given, write, system } = draft
    const { fields } = collection
    if (!draft.before) return undefined
    const { stored, shown } = draft.before
    const mode = write.operation === 'put' ? 'put' : 'patch'
    const update: Update = {
      mode,
      named: normaliseUpdate(fields, mode, given),
      replaced: mode === 'put' ? findReplaced(draft, shown) : NONE,
      now: system.updatedAt,
    }
    draft.fields = updateFields(fields, readFields(stored), update)
    const before = readFields(shown)
    const hidden = Object.keys(given).filter((name) => !draft.isShown(name))
    if (hidden.length > 0) {
      const own = updateFields(fields, before, update)
      draft.unseen = new Map(hidden.map((name) => [name, readOwn(own, name)]))
    }
    const unread = fields.filter(
      ({ name, type }) => Object.hasOwn(given, name) && (type === 'hash' || !draft.isShown(name)),
    )
    const closed = unread.filter(holdsImmutable)
    const after = updateFields(fields, before, { ...update, named: omitFields(update.named, closed) })
    draft.seen = { before, after, closed, open: omitFields(given, closed) }
    draft.faults = unread
      .filter(({ name, definition }) => definition.required && !Object.hasOwn(after, name))
      .filter((field) => !closed.includes(field))
      .map(({ name }) => required(name))
    return undefined
  },
}

const NONE: ReadonlySet<string> = new Set()

const omitFields = (values: JsonObject, fields: readonly Field[]): JsonObject =>
  fields.length === 0 ? values : pickWhere(values, (name) => fields.every((field) => field.name !== name))

/**
 * Returns the properties that a PUT replaces: those that its rule accepts and its caller may read, except secrets,
 * immutable fields and the role field.
 */
function findReplaced(draft: Draft, shown: Document): ReadonlySet<string> {
  const { collection, rule } = draft
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
        draft.isShown(name) &&
        acceptsProperty(rule, name, collection),
    ),
  )
}
