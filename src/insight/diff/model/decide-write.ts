import type { Field } from '../../../fields/field-type.js'
import type { Rule } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { findVariables } from '../../../query/variable.js'
import { isAnywhere } from '../../../query/where.js'
import { holdsImmutable } from '../../../schema/changes.js'
import { whereHolds } from './conditions.js'
import type { Refusal, Sight } from './deciding.js'
import type { BodyReader } from './reading-body.js'
import {
  bodyKey,
  CALLER_ID,
  fixed,
  MISSING,
  type Source,
  type Sources,
  sourceOfDefault,
  sourceOfWritten,
  storedKey,
  TIME,
  variable,
} from './sources.js'
import { isFittingSet, isSame, isThere } from './values.js'

/** What is stored by a request that is granted. */
export interface Stored {
  /** The rule that runs; `null` for a delete. */
  readonly rule: Rule | null
  /** Whether the rule takes a name from the body, where the body has it. */
  readonly accepts: (name: string) => boolean
  /** Whether the rule lets the body decide what a field will be: by naming it, or in a PUT by leaving it out. */
  readonly isGiven: (name: string) => boolean
  /** Whether the rule keeps a property of the body. */
  readonly isKept: (name: string) => boolean
  /** What a field will be. */
  readonly sourceOf: (name: string) => Source
}

export type Outcome = Refusal | Stored

export const isRefusal = (outcome: Outcome): outcome is Refusal => typeof outcome === 'string'

/** What a write is decided on. */
export interface Write {
  readonly mode: 'create' | 'patch' | 'put'
  readonly sight: Sight
  readonly isSignedIn: boolean
  /** The names that a body can have. */
  readonly names: readonly string[]
  readonly body: BodyReader
  /** Whether a created document is an account, its own creator. */
  readonly isAccount: boolean
}

type Applied = Stored | { readonly faults: readonly string[] } | 'refused'

/** Chooses the rule that runs, as the service does: those that drop nothing come first. */
export function chooseRule(write: Write, rules: readonly Rule[]): Outcome {
  const { body } = write
  let isFirst = true
  let isDenied = true
  for (const isWhole of [true, false]) {
    for (const rule of rules) {
      if (rules.length > 1 ? dropsNothing(write, rule, body) !== isWhole : !isWhole) continue
      if (write.mode !== 'create' && !write.sight.appliesTo(rule)) continue
      isDenied = false
      const applied =
        write.mode === 'create' ? applyCreate(write, rule, body) : applyUpdate(write, rule, body)
      if (applied !== 'refused' && !('faults' in applied)) return applied
      if (applied !== 'refused' && isFirst) return `400 ${[...applied.faults].sort().join()}`
      isFirst = false
    }
  }
  return isDenied && !write.isSignedIn ? '401' : '403'
}

const accepts = ({ sight: { collection } }: Write, rule: Rule, name: string): boolean =>
  !rule.set.has(name) &&
  name !== collection.verifiedField &&
  acceptsProperty(rule, name, collection.roleField)

const dropsNothing = (write: Write, rule: Rule, body: BodyReader): boolean =>
  write.names.every(
    (name) =>
      accepts(write, rule, name) ||
      rule.set.has(name) ||
      name === write.sight.collection.verifiedField ||
      !body.names(name),
  )

/** Whether the caller has all that a rule's `set` names. */
const isBound = ({ sight: { ask } }: Write, { set }: Rule): boolean =>
  [...set.values()].flatMap(findVariables).every((name) => isThere(ask, sourceOfWritten(name, [])))

/** The faults of values that a rule sets from what the caller has. */
const judgeSet = ({ sight: { ask, collection } }: Write, rule: Rule, field: Field): readonly string[] => {
  const written = rule.set.get(field.name)
  return findVariables(written).length === 0 || isFittingSet(ask, collection, field, written)
    ? []
    : [`${field.name} set`]
}

/** A fault of what the caller has is none of the body's: such a rule does not run. */
function blame(rule: Rule, faults: readonly string[]): Applied {
  const own = faults.filter((fault) => {
    const [name = ''] = fault.split(' ')
    return findVariables(rule.set.get(name)).length === 0
  })
  return own.length > 0 ? { faults: own } : 'refused'
}

function applyCreate(write: Write, rule: Rule, body: BodyReader): Applied {
  const { ask, collection } = write.sight
  if (!isBound(write, rule)) return 'refused'
  const isGiven = (name: string): boolean => accepts(write, rule, name) && body.names(name)
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const sourceOf = (name: string): Source => {
    if (rule.set.has(name)) return sourceOfWritten(rule.set.get(name), [])
    if (isGiven(name) && !body.isNull(name)) return variable(bodyKey(name))
    const field = byName.get(name)
    return field ? sourceOfDefault(field) : MISSING
  }
  const faults = collection.fields.flatMap((field): readonly string[] => [
    ...judgeSet(write, rule, field),
    ...(field.definition.required && !isThere(ask, sourceOf(field.name)) ? [`${field.name} required`] : []),
  ])
  if (faults.length > 0) return blame(rule, faults)
  const sources = withSystem(inside(rule, sourceOf), {
    _id: fixed(NEW_ID),
    createdAt: variable(TIME),
    updatedAt: variable(TIME),
    createdBy: write.isAccount ? fixed(NEW_ID) : write.isSignedIn ? variable(CALLER_ID) : MISSING,
  })
  const isAdmitted = isAnywhere(rule.check) || whereHolds(ask, rule.check, sources)
  return isAdmitted
    ? { rule, accepts: (name) => accepts(write, rule, name), isGiven, isKept: isGiven, sourceOf }
    : 'refused'
}

/** The `_id` of a document that is made: nobody knows it before. */
const NEW_ID = '01990000-0000-7000-8000-00000000ffff'

/** The sources inside the values of fields. */
const inside =
  (rule: Rule, sourceOf: (name: string) => Source): Sources =>
  (path) => {
    const [name = path, ...rest] = path.split('.')
    const source = sourceOf(name)
    if (rest.length === 0) return source
    if (source.kind === 'variable' && !rule.set.has(name)) return variable(`${source.key}.${rest.join('.')}`)
    return source.kind === 'fixed' ? sourceOfWritten(source.value, rest) : MISSING
  }

const withSystem =
  (sources: Sources, system: { readonly [name: string]: Source }): Sources =>
  (path) =>
    Object.hasOwn(system, path) ? (system[path] ?? MISSING) : sources(path)

function applyUpdate(write: Write, rule: Rule, body: BodyReader): Applied {
  const { mode, sight, names } = write
  const { ask, collection } = sight
  const isAccepted = (name: string): boolean => accepts(write, rule, name)
  const isKept = (name: string): boolean => isAccepted(name) && body.names(name)
  const stay = (name: string): Source => variable(storedKey(name))
  if (mode === 'patch' && !names.some(isKept))
    return { rule, accepts: isAccepted, isGiven: () => false, isKept: () => false, sourceOf: stay }
  if (!isBound(write, rule)) return 'refused'
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const isShown = (name: string): boolean => byName.get(name)?.type !== 'hash' && sight.shows(name)
  const isReplaced = (name: string): boolean => {
    const field = byName.get(name)
    const isFixed = field?.type === 'hash' || field?.definition.immutable === true
    const isOurs = name === collection.roleField || name === collection.verifiedField
    return (
      mode === 'put' &&
      !isFixed &&
      !isOurs &&
      acceptsProperty(rule, name, collection.roleField) &&
      isShown(name)
    )
  }
  const sourceOf = (name: string): Source => {
    const field = byName.get(name)
    const orDefault = (): Source => (mode === 'put' && field ? sourceOfDefault(field) : MISSING)
    if (rule.set.has(name)) return sourceOfWritten(rule.set.get(name), [])
    if (isKept(name)) return body.isNull(name) ? orDefault() : variable(bodyKey(name))
    return isReplaced(name) ? orDefault() : stay(name)
  }
  const faults = collection.fields.flatMap((field): readonly string[] => {
    const { name, definition } = field
    const isNamed = rule.set.has(name) || isKept(name)
    const ofSet = judgeSet(write, rule, field)
    const canMiss = definition.required === true
    const canBreak = holdsImmutable(field)
    if (!canMiss && !canBreak) return ofSet
    if (!isNamed && !(canMiss && isReplaced(name))) return []
    const isSeen = isShown(name)
    if (canBreak && isNamed && !isSeen) return [`${name} immutable`]
    const source = sourceOf(name)
    if (canBreak && isNamed && !isSame(ask, stay(name), source)) return [`${name} immutable`]
    if (!canMiss || isThere(ask, source)) return ofSet
    return !isSeen || isThere(ask, stay(name)) ? [`${name} required`] : ofSet
  })
  if (faults.length > 0) return blame(rule, faults)
  const sources = withSystem(merge(write, rule, { body, sourceOf }), {
    _id: stay('_id'),
    createdAt: stay('createdAt'),
    createdBy: stay('createdBy'),
    updatedAt: variable(TIME),
  })
  const isAdmitted = isAnywhere(rule.check) || whereHolds(ask, rule.check, sources)
  const isGiven = (name: string): boolean => isKept(name) || (!rule.set.has(name) && isReplaced(name))
  return isAdmitted ? { rule, accepts: isAccepted, isGiven, isKept, sourceOf } : 'refused'
}

/** The sources inside objects: a PATCH leaves what it does not name. */
const merge = (
  { mode, sight: { ask } }: Write,
  rule: Rule,
  { body, sourceOf }: { readonly body: BodyReader; readonly sourceOf: (name: string) => Source },
): Sources => {
  const sources = inside(rule, sourceOf)
  return (path) => {
    const source = sources(path)
    const isMerged = mode === 'patch' && path.includes('.') && source.kind === 'variable'
    if (!isMerged || source.key !== bodyKey(path)) return source
    return body.names(path) || !isThere(ask, source)
      ? body.names(path)
        ? source
        : variable(storedKey(path))
      : source
  }
}
