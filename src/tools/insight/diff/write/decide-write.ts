import type { Collection } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { holdsImmutable } from '../../../../core/fields/schema/changes.js'
import { normalise, normalisePatch } from '../../../../core/fields/schema/normalise.js'
import { forUpdate } from '../../../../core/fields/schema/update-fields.js'
import { isObject, readOwn } from '../../../../core/json/own-properties.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import type { Rule } from '../../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../../core/permissions/write-rules.js'
import { findVariables, isVariable } from '../../../../core/query/variable.js'
import { isAnywhere } from '../../../../core/query/where.js'
import { toDiagram, whereHolds } from '../model/conditions.js'
import {
  always,
  bodyKey,
  CALLER_ID,
  type Cases,
  type Source,
  type Sources,
  sourceOfVariable,
  storedKey,
  TIME,
  variable,
} from '../model/sources.js'
import { isSame, isThere } from '../model/values.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import { type Applied, accepts, type Stored, type Trial, type Write, type WriteDecision } from './writing.js'

/** Returns `cases` if the condition `when` is true, and `others` if it is false. */
function choose({ and, not }: Logic, when: Diagram, cases: Cases, others: Cases): Cases {
  if (when === NEVER || when === ALWAYS) return when === ALWAYS ? cases : others
  const ifNot = not(when)
  return [
    ...cases.map((one) => [and(when, one[0]), one[1]] as const),
    ...others.map((one) => [and(ifNot, one[0]), one[1]] as const),
  ].filter((one) => one[0] !== NEVER)
}

const MISSING: Source = { kind: 'fixed', value: undefined }
const fixed = (value: unknown): Source => ({ kind: 'fixed', value })

/** Returns the source of the value at a path inside a value of the configuration. An empty path is the value itself. */
function sourceOfWritten(written: unknown, path: readonly string[]): Source {
  if (isVariable(written)) return path.length === 0 ? sourceOfVariable(written) : MISSING
  const [first, ...rest] = path
  if (first === undefined) return fixed(written)
  return isObject(written) ? sourceOfWritten(readOwn(written, first), rest) : MISSING
}

/**
 * Returns the source of a value of the configuration, or of a missing value, after defaults are applied. Defaults also
 * replace missing values inside objects.
 */
const sourceOfFilled = (field: Field | undefined, written?: unknown): Source =>
  sourceOfWritten(field ? fill(field, written) : written, [])

/** Returns the source of a value of the configuration that is merged into the stored value. */
const sourceOfMerged = (field: Field | undefined, written: unknown): Source =>
  sourceOfWritten(field && isPlain(written) ? (normalisePatch(field, written) ?? undefined) : written, [])

/** Whether a value contains no variables. Values with variables stay as they are written. */
const isPlain = (value: unknown): boolean => value !== undefined && findVariables(value).length === 0

const SOME_TIME = '2026-01-01T00:00:00.000Z'

/** Returns a value of the configuration as stored, with its defaults. In a nullable field, `null` means no value. */
function fill(field: Field, written: unknown): unknown {
  const { definition, properties } = field
  const isNone = written === undefined || (written === null && definition.nullable === true)
  // A field may have a default that is never applied.
  const isFilled = 'default' in definition && field.defaultAt(SOME_TIME) !== undefined
  const value = isNone ? (isFilled ? definition.default : undefined) : written
  if (properties.length === 0 || !isObject(value)) return isPlain(value) ? normalise(field, value) : value
  const filled = properties.map((property) => [property.name, fill(property, readOwn(value, property.name))])
  return { ...value, ...Object.fromEntries(filled.filter(([, inner]) => inner !== undefined)) }
}

/** Returns the condition under which the caller has all values that a rule's `set` names. */
const isBound = ({ sight: { logic } }: Write, { set }: Rule): Diagram =>
  logic.and(
    ...[...set.values()]
      .flatMap(findVariables)
      .map((name) => isThere(logic, always(sourceOfWritten(name, [])))),
  )

/** Returns the condition under which the caller's values in `set` are valid for a field and its properties. */
function isFittingSet(logic: Logic, collection: Collection, field: Field, written: unknown): Diagram {
  const own = toPointerPart(field.name)
  const places = findPlaces(written, own)
  const faultsIn = (value: unknown): readonly string[] =>
    collection
      .validate({ [field.name]: value }, { limit: Number.POSITIVE_INFINITY })
      .map(({ path }) => path)
      .filter((path) => isWithin(path, own))
  const isFitting = (value: unknown, at: string): boolean =>
    !faultsIn(value).some((path) => isWithin(path, at))
  const isOfVariable = (path: string): boolean => places.some(([at]) => isWithin(path, at))
  const fits = places.map(([at, name]) =>
    logic.test(sourceOfVariable(name).key, (value) => isFitting(replace(written, name, sampleOf(value)), at)),
  )
  return logic.and(toDiagram(faultsIn(written).every(isOfVariable)), ...fits)
}

const isWithin = (path: string, at: string): boolean => path === at || path.startsWith(`${at}/`)

/** Returns the variables in a value, each with the JSON pointer to it. */
function findPlaces(written: unknown, at: string): readonly (readonly [at: string, variable: string])[] {
  if (isVariable(written)) return [[at, written]]
  if (typeof written !== 'object' || written === null) return []
  return Object.entries(written).flatMap(([name, inner]) => findPlaces(inner, at + toPointerPart(name)))
}

/** Returns `written` with `variable` replaced with `value`. */
function replace(written: unknown, variable: string, value: unknown): unknown {
  if (written === variable) return value
  if (Array.isArray(written)) return written.map((inner) => replace(inner, variable, value))
  if (!isObject(written)) return written
  return Object.fromEntries(
    Object.entries(written).map(([name, inner]) => [name, replace(inner, variable, value)]),
  )
}

const SAMPLES = { string: 'a', number: 1, boolean: true } as const

const sampleOf = (value: Value): unknown => {
  if (isList(value)) return value.of === null ? [] : [SAMPLES[value.of]]
  return isOpaque(value) ? value.sample : value
}

/** Returns the condition under which a rule sets a field to a value of the caller that is invalid for the field. */
function isUnfit({ sight: { logic, collection } }: Write, rule: Rule, field: Field): Diagram {
  const written = rule.set.get(field.name)
  if (findVariables(written).length === 0) return NEVER
  return logic.not(isFittingSet(logic, collection, field, written))
}

/** The conditions of a body's validation errors, and the condition under which all values are valid (`isSound`). */
interface RuleFaults {
  readonly faults: ReadonlyMap<string, Diagram>
  readonly isSound: Diagram
}

/**
 * Separates validation errors of the body from invalid values of the caller. An invalid value of the caller is no error
 * of the body, but prevents the rule from running.
 */
function judgeFaults(write: Write, rule: Rule, found: ReadonlyMap<string, Diagram>): RuleFaults {
  const { and, or, not } = write.sight.logic
  const bound = isBound(write, rule)
  const own = [...found].filter(([fault, when]) => {
    const [name = ''] = fault.split(' ')
    return when !== NEVER && findVariables(rule.set.get(name)).length === 0
  })
  return {
    faults: new Map(own.map(([fault, when]) => [fault, and(bound, when)])),
    isSound: not(or(...found.values())),
  }
}

/** Returns the sources at every path, from the sources of the top-level fields. */
const inside =
  (rule: Rule, sourcesOf: Sources): Sources =>
  (path) => {
    const [name = path, ...rest] = path.split('.')
    if (rest.length === 0) return sourcesOf(name)
    const within = (source: Source): Source => {
      if (source.kind === 'fixed') return sourceOfWritten(source.value, rest)
      return rule.set.has(name) ? MISSING : variable(`${source.key}.${rest.join('.')}`)
    }
    return sourcesOf(name).map(([when, source]) => [when, within(source)] as const)
  }

const withSystem =
  (sources: Sources, system: { readonly [name: string]: Source }): Sources =>
  (path) => {
    const own = Object.hasOwn(system, path) ? system[path] : undefined
    return own ? always(own) : sources(path)
  }

/** Applies a rule to a document that a request changes. */
function applyUpdate(write: Write, rule: Rule): Applied {
  const { mode, sight, names, body } = write
  const { logic, collection } = sight
  const { and, or, not } = logic
  const isAccepted = (name: string): boolean => accepts(write, rule, name)
  const isKept = (name: string): Diagram => (isAccepted(name) ? body.names(name) : NEVER)
  const isIdle = mode === 'patch' ? not(or(...names.map(isKept))) : NEVER
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const isShown = (name: string): Diagram => (byName.get(name)?.type === 'hash' ? NEVER : write.shows(name))
  const isReplaced = (name: string): Diagram => {
    const field = byName.get(name)
    const isFixed = field?.type === 'hash' || field?.definition.immutable === true
    const isCovered = !isFixed && name !== collection.roleField && acceptsProperty(rule, name, collection)
    return mode === 'put' && isCovered ? isShown(name) : NEVER
  }
  const written = (name: string): Cases => {
    const field = byName.get(name)
    const put = (value?: unknown): Cases =>
      always(mode === 'put' ? sourceOfFilled(field && forUpdate(field), value) : sourceOfMerged(field, value))
    if (rule.set.has(name)) return put(rule.set.get(name))
    const orDefault = put()
    const given = choose(logic, body.isNull(name), orDefault, always(variable(bodyKey(name))))
    return choose(logic, isKept(name), given, choose(logic, isReplaced(name), orDefault, stay(name)))
  }
  const sourcesOf = (name: string): Cases =>
    rule.set.has(name) ? choose(logic, isIdle, stay(name), written(name)) : written(name)
  const faults = new Map<string, Diagram>()
  const addFaults = (field: Field): void => {
    const { name, definition } = field
    const canMiss = definition.required === true
    if (!canMiss && !rule.set.has(name) && !holdsImmutable(field)) return
    const isNamed = rule.set.has(name) ? ALWAYS : isKept(name)
    const isSeen = isShown(name)
    const isFixed = holdsImmutable(field)
      ? or(not(isSeen), not(isSame(logic, stay(name), written(name))))
      : NEVER
    const breaks = and(isNamed, isFixed)
    const wasThere = or(not(isSeen), isThere(logic, stay(name)))
    const misses = canMiss
      ? and(or(isNamed, isReplaced(name)), not(breaks), not(isThere(logic, written(name))), wasThere)
      : NEVER
    faults.set(`${name} immutable`, breaks)
    faults.set(`${name} required`, misses)
    faults.set(`${name} set`, and(isUnfit(write, rule, field), not(breaks), not(misses)))
  }
  collection.fields.forEach(addFaults)
  const sources = withSystem(merge(write, rule, written), {
    _id: variable(storedKey('_id')),
    createdAt: variable(storedKey('createdAt')),
    createdBy: variable(storedKey('createdBy')),
    updatedAt: variable(TIME),
  })
  const judged = judgeFaults(write, rule, faults)
  const isAdmitted = isAnywhere(rule.check) ? ALWAYS : whereHolds(logic, rule.check, sources)
  return {
    runs: or(isIdle, and(isBound(write, rule), judged.isSound, isAdmitted)),
    faults: new Map([...judged.faults].map(([fault, when]) => [fault, and(not(isIdle), when)])),
    stored: {
      rule,
      accepts: isAccepted,
      isKept,
      sourcesOf,
      isGiven: (name) => (rule.set.has(name) ? isKept(name) : or(isKept(name), isReplaced(name))),
    },
  }
}

const stay = (name: string): Cases => always(variable(storedKey(name)))

/** Returns the sources at every path of a changed document. A PATCH keeps properties that it does not contain. */
const merge = ({ mode, sight: { logic }, body }: Write, rule: Rule, written: Sources): Sources => {
  const sources = inside(rule, written)
  if (mode !== 'patch') return sources
  return (path) => {
    if (!path.includes('.')) return sources(path)
    const own = bodyKey(path)
    return sources(path).flatMap(([when, source]): Cases => {
      if (source.kind === 'fixed' || source.key !== own) return [[when, source]]
      return narrow(logic, when, choose(logic, body.names(path), always(source), stay(path)))
    })
  }
}

/** Adds a condition to all cases. */
const narrow = (logic: Write['sight']['logic'], also: Diagram, cases: Cases): Cases =>
  cases.map(([when, source]) => [logic.and(also, when), source] as const)

/** A sample `_id` of a new document. Conditions cannot name it, because the `_id` is chosen at creation. */
const NEW_ID = '01990000-0000-7000-8000-00000000ffff'

/** Applies a rule to a document that a request creates. */
function applyCreate(write: Write, rule: Rule): Applied {
  const { body, sight } = write
  const { logic, collection } = sight
  const { and, not } = logic
  const isGiven = (name: string): Diagram => (accepts(write, rule, name) ? body.names(name) : NEVER)
  const byName = new Map(collection.fields.map((field) => [field.name, field]))
  const sourcesOf = (name: string): Cases => {
    const field = byName.get(name)
    if (rule.set.has(name)) return always(sourceOfFilled(field, rule.set.get(name)))
    const own = and(isGiven(name), not(body.isNull(name)))
    return choose(logic, own, always(variable(bodyKey(name))), always(sourceOfFilled(field)))
  }
  const faults = new Map<string, Diagram>()
  for (const field of collection.fields) {
    const { name, definition } = field
    faults.set(`${name} set`, isUnfit(write, rule, field))
    if (definition.required && !collection.fills.has(name))
      faults.set(`${name} required`, not(isThere(logic, sourcesOf(name))))
  }
  const sources = withSystem(inside(rule, sourcesOf), {
    _id: fixed(NEW_ID),
    createdAt: variable(TIME),
    updatedAt: variable(TIME),
    createdBy: write.isAccount ? fixed(NEW_ID) : write.isSignedIn ? variable(CALLER_ID) : MISSING,
  })
  const judged = judgeFaults(write, rule, faults)
  const isAdmitted = isAnywhere(rule.check) ? ALWAYS : whereHolds(logic, rule.check, sources)
  return {
    runs: and(isBound(write, rule), judged.isSound, isAdmitted),
    faults: judged.faults,
    stored: { rule, accepts: (name) => accepts(write, rule, name), isGiven, isKept: isGiven, sourcesOf },
  }
}

/** Tries one rule by itself. The result is cached for all callers to whom the same names are shown. */
export function tryRule(write: Write, rule: Rule): Trial {
  const { mode, trials, namesShown, shows } = write
  const known = trials.get(rule) ?? new Map<string, Trial>()
  trials.set(rule, known)
  const seen = namesShown.map(shows).join()
  const trial = known.get(seen) ?? {
    isWhole: dropsNothing(write, rule),
    applied: mode === 'create' ? applyCreate(write, rule) : applyUpdate(write, rule),
  }
  known.set(seen, trial)
  return trial
}

/**
 * Chooses the rule that runs, as the service does: rules that drop nothing of the body are tried first. Decides only
 * the writes that the region selects.
 */
export function chooseRule(write: Write, rules: readonly Rule[], region: Diagram): WriteDecision {
  const { and, or, not } = write.sight.logic
  const refusals = new Map<string, Diagram>()
  const refuse = (why: string, when: Diagram): void =>
    void refusals.set(why, or(refusals.get(why) ?? NEVER, when))
  const granted: (readonly [Diagram, Stored])[] = []
  const tried = rules.flatMap((rule) => {
    const applies = write.mode === 'create' ? ALWAYS : write.sight.appliesTo(rule)
    return and(region, applies) === NEVER ? [] : [{ ...tryRule(write, rule), applies }]
  })
  let open = region
  let isFirst = region
  let isDenied = region
  for (const isWholesTurn of [true, false]) {
    for (const { isWhole, applies, applied } of tried) {
      const turn = and(open, applies, isWholesTurn ? isWhole : not(isWhole))
      if (turn === NEVER) continue
      const runs = and(turn, applied.runs)
      if (runs !== NEVER) granted.push([runs, applied.stored])
      const isFaulty = and(turn, isFirst, or(...applied.faults.values()))
      refuse('400', isFaulty)
      for (const [fault, when] of applied.faults) refuse(fault, and(isFaulty, when))
      open = and(open, not(runs), not(isFaulty))
      isFirst = and(isFirst, not(turn))
      isDenied = and(isDenied, not(turn))
    }
  }
  refuse(write.isSignedIn ? '403' : '401', and(open, isDenied))
  refuse('403', and(open, not(isDenied)))
  return { refusals, granted }
}

const dropsNothing = (write: Write, rule: Rule): Diagram => {
  const { logic, collection } = write.sight
  const dropped = write.names.filter(
    (name) => !accepts(write, rule, name) && !rule.set.has(name) && name !== collection.verifiedField,
  )
  return logic.not(logic.or(...dropped.map(write.body.names)))
}
