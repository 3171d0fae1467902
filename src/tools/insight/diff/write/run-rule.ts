import type { Collection } from '../../../../core/config/plan.js'
import { applyCreate } from '../../../../core/documents/write/rules/apply-create.js'
import { applyUpdate } from '../../../../core/documents/write/rules/apply-update.js'
import type { Fault } from '../../../../core/errors.js'
import type { Field } from '../../../../core/fields/field-type.js'
import type { BodyValidator, FaultOptions } from '../../../../core/fields/schema/validator.js'
import { mergePatch } from '../../../../core/json/merge-patch.js'
import { compilePath } from '../../../../core/json/own-properties.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import { ALL_PROPERTIES, EVERYONE, type Rule } from '../../../../core/permissions/grants.js'
import {
  acceptsProperty,
  bindSet,
  type KeptProperties,
  keepProperties,
} from '../../../../core/permissions/write-rules.js'
import { findVariables, isVariable, NOW, USER } from '../../../../core/query/variable.js'
import { ANYWHERE } from '../../../../core/query/where.js'
import type { Call } from '../../../../core/request/call.js'
import { endless, runAtOnce } from '../../../../core/slices.js'
import type { StoredDocument } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import { documentWith } from '../model/conditions.js'
import { bodyKey, type Source, sourceOfVariable, storedKey, TIME, variable } from '../model/sources.js'

/** How a write changes the document. */
export type WriteMode = 'create' | 'patch' | 'put'

/** One input for which a rule is run: what body, document and caller have at a path of a field. */
export interface FieldInput {
  readonly path: string
  /** The properties of the body. None: the body does not contain the field. */
  readonly body: JsonObject
  /** The fields of the stored document: the field with `STORED_VALUE` at the path, or a part of it, or none. */
  readonly stored: JsonObject
  /** Whether the caller may read the field. */
  readonly isShown: boolean
  /** The values of the variables in the rule's `set`. */
  readonly values: ReadonlyMap<string, unknown>
}

/**
 * What a rule makes of a field.
 * - `unbound`: the caller lacks a value of `set`. `unfit`: the caller's value is invalid for the field.
 * - `invalid`: the body has validation errors in the field. Their codes are `faults`.
 * - `fits`: the field is stored. `source` is the source of the value at the path.
 */
export type FieldOutcome =
  | { readonly kind: 'unbound' | 'unfit' }
  | { readonly kind: 'invalid'; readonly faults: readonly string[] }
  | { readonly kind: 'fits'; readonly source: Source }

/** The outcome for one input, and the value at the path, if the field is stored. */
interface FieldRun {
  readonly outcome: FieldOutcome
  readonly value?: unknown
}

/** Represents any stored value: no body, rule or schema contains it. */
export const STORED_VALUE = '\u0000stored'
/** The time of each run. No rule or schema contains it. */
const RUN_AT = '2026-01-02T03:04:05.678Z'
/** A property in each body of a PATCH, because a PATCH that names nothing changes nothing. */
const OTHER = { '\u0000other': true }

/** Returns the properties of a body that a rule keeps. */
export const keep = (collection: Collection, rule: Rule, body: JsonObject): KeptProperties =>
  keepProperties(body, (name) => acceptsProperty(rule, name, collection), rule.set, collection.verifiedField)

/** Runs a rule of the service on one field, as if the collection had no other fields and the rule no `check`. */
export function runRule(mode: WriteMode, collection: Collection, rule: Rule, input: FieldInput): FieldRun {
  const { path, body, stored, isShown, values } = input
  const [name = path] = path.split('.')
  const own = onlyField(collection, name, rule)
  const set = new Map([...rule.set].filter(([one]) => one === name))
  const only: Rule = { ...rule, set, check: ANYWHERE }
  const call = createRunCall(values)
  if (!bindSet(only, call)) return { outcome: { kind: 'unbound' } }
  const kept = keep(collection, rule, body)
  const isHash = collection.hashes.some((field) => field.name === name)
  const slice = endless()
  const document = { _id: '', _version: 1, ...stored } as StoredDocument
  const trial = {
    collection: own,
    rule: only,
    kept: mode === 'patch' ? { ...kept, body: { ...kept.body, ...OTHER } } : kept,
  }
  const applied =
    mode === 'create'
      ? runAtOnce(() => applyCreate(call, trial, { system: SYSTEM, slice, judgeReferences: () => [] }))
      : runAtOnce(() =>
          applyUpdate(call, trial, {
            mode,
            stored: document,
            shown: isShown && !isHash ? document : { _id: '' },
            isShown: (one) => one !== name || (isShown && !isHash),
            now: RUN_AT,
            slice,
            judgeReferences: () => [],
            judgeMatches: () => [],
          }),
        )
  if (applied.kind === 'refused') return { outcome: { kind: 'unfit' } }
  if (applied.kind === 'invalid')
    return { outcome: { kind: 'invalid', faults: applied.faults.map(({ code }) => code) } }
  const secrets: unknown = 'secrets' in applied ? applied.secrets : undefined
  const secret: unknown = secrets instanceof Map ? secrets.get(name) : undefined
  const after = secret === undefined ? applied.fields : { ...applied.fields, [name]: secret ?? undefined }
  const value = compilePath(path)(after)
  return { outcome: { kind: 'fits', source: findSource(value, rule, input) }, value }
}

const SYSTEM = { _id: '', createdAt: RUN_AT, updatedAt: RUN_AT, createdBy: null }

/** Finds out from where a stored value came. */
function findSource(value: unknown, { set }: Rule, { path, body, values }: FieldInput): Source {
  if (value === STORED_VALUE) return variable(storedKey(path))
  if (value === RUN_AT) return variable(TIME)
  const [name = path] = path.split('.')
  const read = compilePath(path)
  if (set.has(name)) {
    const written = read({ [name]: set.get(name) })
    const held = isVariable(written) ? values.get(written) : undefined
    const isHeld = held !== undefined && (held === value || Array.isArray(held))
    return isVariable(written) && isHeld ? sourceOfVariable(written) : { kind: 'fixed', value }
  }
  const isGiven = (read(body) ?? null) !== null && value !== undefined
  return isGiven ? variable(bodyKey(path)) : { kind: 'fixed', value }
}

/** Returns a call with the parts that rules use: values of the caller, and a service without accounts. */
function createRunCall(values: ReadonlyMap<string, unknown>): Call {
  const held = [...values].filter(([name]) => name !== NOW)
  const user = held.reduce<unknown>(
    (fields, [name, value]) => mergePatch(fields, documentWith(name.slice(USER.length), value)),
    {},
  )
  const binding = { user, now: String(values.get(NOW) ?? RUN_AT) }
  const service = { accounts: null, attachments: new Map() }
  return { caller: null, binding, judge: { admits: () => true }, service } as unknown as Call
}

/** A rule that names all properties to all callers. */
const NAMING: Rule = {
  subject: EVERYONE,
  properties: ALL_PROPERTIES,
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: true,
  claims: [],
}

/**
 * Returns a collection as if it had only one field. Of its validation errors, only those remain that depend on the
 * presence of the field, or on the values of the caller in `set`: all other values are samples.
 */
function onlyField(collection: Collection, name: string, { set }: Rule): Collection {
  const pointer = toPointerPart(name)
  const isBound = findVariables(set.get(name)).length > 0
  const isOwn = ({ path, code }: Fault): boolean => {
    const isOfPresence = code === 'required' || code === 'immutable'
    return path === pointer
      ? isBound || isOfPresence
      : isBound && !isOfPresence && path.startsWith(`${pointer}/`)
  }
  const narrow = ({ known = [], isRelevant = () => true }: FaultOptions = {}): FaultOptions => ({
    known: known.filter(isOwn),
    isRelevant: (fault) => isOwn(fault) && isRelevant(fault),
  })
  const { validate, fields, hashes } = collection
  const own: BodyValidator = Object.assign(
    (body: JsonObject, options?: FaultOptions) => validate(body, narrow(options)),
    {
      inSlices: (...[body, slice, options]: Parameters<BodyValidator['inSlices']>) =>
        validate.inSlices(body, slice, narrow(options)),
      isFlawless: () => false,
    },
  )
  const named = new Map([[EVERYONE, NAMING]])
  return {
    ...collection,
    fields: fields.filter((field) => field.name === name).map(withoutInnerImmutable),
    hashes: hashes.filter((field) => field.name === name),
    permissions: { create: named, read: named, update: named, delete: named },
    referring: [],
    validate: own,
  }
}

/** Returns a field whose properties may change. Immutable properties of objects are not compared. */
const withoutInnerImmutable = (field: Field): Field => ({
  ...field,
  properties: field.properties.map((property) => ({
    ...withoutInnerImmutable(property),
    definition: { ...property.definition, immutable: false },
  })),
})
