import type { Collection } from '../../../../core/config/plan.js'
import { compileWrite } from '../../../../core/documents/write/compile-write.js'
import {
  type BodyWrite,
  Draft,
  type Stage,
  type Verdict,
  type WriteOperation,
} from '../../../../core/documents/write/draft.js'
import type { FoundTarget } from '../../../../core/documents/write/find-target.js'
import { drop, keepAccepted } from '../../../../core/documents/write/stages/drop.js'
import type { Fault } from '../../../../core/errors.js'
import type { Field } from '../../../../core/fields/field-type.js'
import type { BodyValidator, FaultOptions } from '../../../../core/fields/schema/validator.js'
import { compilePath } from '../../../../core/json/own-properties.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import type { BoundCaller } from '../../../../core/permissions/caller.js'
import { EVERYTHING } from '../../../../core/permissions/full-rights.js'
import { EVERYONE, OWNER, type Rule } from '../../../../core/permissions/grants.js'
import { bindSet, type KeptProperties } from '../../../../core/permissions/write-rules.js'
import { findVariables, isVariable, NOW, USER } from '../../../../core/query/variable.js'
import { ANYWHERE } from '../../../../core/query/where.js'
import type { Service } from '../../../../core/request/call.js'
import { endless } from '../../../../core/slices.js'
import type { StoredDocument } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import { put } from '../model/conditions.js'
import { bodyKey, type Source, sourceOfVariable, storedKey, TIME, variable } from '../model/sources.js'

/** One input for which a rule is run: what body, document and caller have at a path of a field. */
export interface FieldInput {
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
 * The result of running a rule on one field.
 * - `unbound`: the caller lacks a value of `set`. `unfit`: the caller's value is invalid for the field.
 * - `invalid`: the body has validation errors in the field. Their codes are `faults`.
 * - `fits`: the field is stored. `source` is the source of the value at the path.
 */
export type FieldOutcome =
  | { readonly kind: 'unbound' | 'unfit' }
  | { readonly kind: 'invalid'; readonly faults: readonly string[] }
  | { readonly kind: 'fits'; readonly source: Source }

/** The outcome for one input, and the value at the path, if the field is stored. */
export interface FieldRun {
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
  keepAccepted({ collection, required: undefined }, rule, body)

/** Runs a rule on one input. */
type RunRule = (input: FieldInput) => FieldRun

/**
 * Compiles a rule of the service for one path, as if the collection had only the field of the path and the rule no
 * `check`.
 */
export function compileRule(
  operation: WriteOperation,
  collection: Collection,
  rule: Rule,
  path: string,
): RunRule {
  const [name = path] = path.split('.')
  const set = new Map([...rule.set].filter(([one]) => one === name))
  const only: Rule = { ...rule, set, check: ANYWHERE }
  const own = onlyField(collection, name, only)
  const stages = compileWrite(ALONE, own, operation)
  const judges = stages.flatMap((stage) => (stage.judge && stage !== drop ? [stage.judge] : []))
  const read = compilePath(path)
  return (input) => {
    const call = createRunCall(input.values)
    if (!bindSet(only, call)) return { outcome: { kind: 'unbound' } }
    const before = operation === 'create' ? undefined : targetOf(own, name, input)
    const write: JudgedWrite = { call, collection: own, operation, before }
    const draft = new Draft(write as BodyWrite, { body: input.body, system: SYSTEM }, endless(), only)
    const kept = keep(collection, rule, input.body)
    draft.given = operation === 'patch' ? { ...kept.body, ...OTHER } : kept.body
    const verdict = judgeDraft(draft, judges)
    if (verdict?.kind === 'refused') return { outcome: { kind: 'unfit' } }
    if (verdict?.kind === 'invalid')
      return { outcome: { kind: 'invalid', faults: verdict.faults.map(({ code }) => code) } }
    const secret = draft.secrets.get(name)
    const after = secret === undefined ? draft.fields : { ...draft.fields, [name]: secret ?? undefined }
    const value = read(after)
    return { outcome: { kind: 'fits', source: findSource(value, { set, path, read }, input) }, value }
  }
}

/** The parts of a write that `judge` of the stages reads if the collection has no `match` and the rule no `check`. */
interface JudgedWrite extends Pick<BodyWrite, 'collection' | 'operation'> {
  readonly call: BoundCaller & { readonly service: Pick<Service, 'accounts'> }
  readonly before: JudgedTarget | undefined
}

interface JudgedTarget extends Pick<FoundTarget, 'stored' | 'shown'> {
  readonly access: Pick<FoundTarget['access'], 'isShown'>
}

/** Returns the document that an update changes, as its caller may read it. */
function targetOf({ hashes }: Collection, name: string, { stored, isShown }: FieldInput): JudgedTarget {
  const document = { _id: '', _version: 1, ...stored } as StoredDocument
  const isSeen = isShown && hashes.length === 0
  return {
    stored: document,
    shown: isSeen ? document : { _id: '' },
    access: { isShown: (_: unknown, one: string) => one !== name || isSeen },
  }
}

/** Runs stages until the first verdict. Without a limit of steps, no stage waits. */
function judgeDraft(draft: Draft, judges: readonly NonNullable<Stage['judge']>[]): Verdict | undefined {
  for (const judge of judges) {
    const verdict = judge(draft) as Verdict | undefined
    if (verdict) return verdict
  }
  return undefined
}

/** A service whose collections have neither accounts nor a `match`. */
const ALONE = { accounts: null, plan: { matches: { from: new Map(), to: new Map() } } }

const SYSTEM = { _id: '', createdAt: RUN_AT, updatedAt: RUN_AT, createdBy: null }

/** Finds out from where a stored value came. `read` returns the value at the path. */
function findSource(
  value: unknown,
  {
    set,
    path,
    read,
  }: Pick<Rule, 'set'> & { readonly path: string; readonly read: (of: JsonObject) => unknown },
  { body, values }: FieldInput,
): Source {
  if (value === STORED_VALUE) return variable(storedKey(path))
  if (value === RUN_AT) return variable(TIME)
  if (set.size > 0) {
    const written = read(Object.fromEntries(set))
    const held = isVariable(written) ? values.get(written) : undefined
    const isHeld = held !== undefined && (held === value || Array.isArray(held))
    return isVariable(written) && isHeld ? sourceOfVariable(written) : { kind: 'fixed', value }
  }
  const isGiven = (read(body) ?? null) !== null && value !== undefined
  return isGiven ? variable(bodyKey(path)) : { kind: 'fixed', value }
}

/** Returns the parts of a call that rules use: values of the caller, and a service without accounts. */
function createRunCall(values: ReadonlyMap<string, unknown>): JudgedWrite['call'] {
  const held = [...values].filter(([name]) => name !== NOW)
  const user = held.reduce<JsonObject>(
    (fields, [name, value]) => put(fields, name.slice(USER.length).split('.'), value),
    {},
  )
  const binding = { user, now: String(values.get(NOW) ?? RUN_AT) }
  return { caller: null, binding, service: { accounts: null } }
}

/**
 * Returns a collection as if it had only one field. Of its validation errors, only those remain that depend on the
 * presence of the field, or on the values of the caller in `set`: all other values are samples.
 */
function onlyField(collection: Collection, name: string, rule: Rule): Collection {
  const pointer = toPointerPart(name)
  const isBound = findVariables(rule.set.get(name)).length > 0
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
      inSlices: (...[body, slices, options]: Parameters<BodyValidator['inSlices']>) =>
        validate.inSlices(body, slices, narrow(options)),
    },
  )
  // The rule itself is there too, so that the stages which it needs run.
  const named = new Map([
    [EVERYONE, [EVERYTHING]],
    [OWNER, [rule]],
  ])
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
