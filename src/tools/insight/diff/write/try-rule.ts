import type { WriteOperation } from '../../../../core/documents/write/draft.js'
import { readOwn } from '../../../../core/json/own-properties.js'
import type { Rule } from '../../../../core/permissions/grants.js'
import { findVariables } from '../../../../core/query/variable.js'
import { isAnywhere } from '../../../../core/query/where.js'
import type { JsonObject } from '../../../../core/types.js'
import { documentWith, formOf, whereHolds } from '../model/conditions.js'
import type { Sight } from '../model/deciding.js'
import {
  always,
  bodyKey,
  CALLER_ID,
  type Cases,
  fixed,
  type Source,
  sourceOfVariable,
  storedKey,
  TIME,
  variable,
} from '../model/sources.js'
import { isNull, isSame, isThere } from '../model/values.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'
import {
  compileRule,
  type FieldInput,
  type FieldOutcome,
  type FieldRun,
  keep,
  STORED_VALUE,
} from './run-rule.js'

/** Reads the properties of a body. */
export interface BodyReader {
  /** Returns the condition under which the body contains a property. */
  names(name: string): Diagram
  /** Returns the condition under which a property of the body is `null`. */
  isNull(name: string): Diagram
}

/** The inputs for deciding a write. */
export interface Write {
  readonly mode: WriteOperation
  readonly sight: Sight
  readonly isSignedIn: boolean
  /** The names whose visibility affects the write. */
  readonly namesShown: readonly string[]
  /**
   * Returns the condition under which a property is shown, given that the document may be read. A write never reaches a
   * document that may not be read.
   */
  readonly shows: (name: string) => Diagram
  /** The names that a body can contain. */
  readonly names: readonly string[]
  readonly body: BodyReader
  /** Whether a created document is an account, which is its own creator. */
  readonly isAccount: boolean
  /** Caches the results of trying a rule. The inner key is made of the conditions under which names are shown. */
  readonly trials: Map<Rule, Map<string, Trial>>
}

/** The document that a granted request stores. */
export interface Stored {
  /** The rule that runs; `null` for a delete. */
  readonly rule: Rule | null
  /** Whether the rule accepts a property of the body. */
  readonly accepts: (name: string) => boolean
  /** Returns the condition under which the body decides a field: by containing it or, in a PUT, by omitting it. */
  readonly isGiven: (name: string) => Diagram
  /** Returns the condition under which the body contains a property and the rule keeps it. */
  readonly isKept: (name: string) => Diagram
  /** Returns the sources of a field of the stored document. */
  readonly sourcesOf: (name: string) => Cases
}

/** The outcome of trying one rule by itself. If it neither runs nor has validation errors, it rejects the write. */
export interface Trial {
  /** The condition under which the rule drops nothing of the body. */
  readonly isWhole: Diagram
  /** The condition under which the rule keeps nothing of the body. */
  readonly isIdle: Diagram
  readonly runs: Diagram
  /** The condition of each validation error. */
  readonly faults: ReadonlyMap<string, Diagram>
  readonly stored: Stored
}

/** Tries one rule by itself. The result is cached for all callers to whom the same names are shown. */
export function tryRule(write: Write, rule: Rule): Trial {
  const { trials, namesShown, shows } = write
  const known = trials.get(rule) ?? new Map<string, Trial>()
  trials.set(rule, known)
  const seen = namesShown.map(shows).join()
  const trial = known.get(seen) ?? applyRule(write, rule)
  known.set(seen, trial)
  return trial
}

function applyRule(write: Write, rule: Rule): Trial {
  const { mode, sight, names, body } = write
  const { logic, collection } = sight
  const { and, or, not } = logic
  const kept = new Map(names.map((name) => [name, keep(collection, rule, { [name]: true })]))
  const accepts = (name: string): boolean => Object.hasOwn(kept.get(name)?.body ?? {}, name)
  const isKept = (name: string): Diagram => (accepts(name) ? body.names(name) : NEVER)
  const isWhole = not(or(...names.filter((name) => kept.get(name)?.isWhole === false).map(body.names)))
  const keepsNothing = not(or(...names.map(isKept)))
  const isIdle = mode === 'patch' ? keepsNothing : NEVER
  const outcomes = new Map<string, Outcomes>()
  const outcomesAt = (path: string): Outcomes => {
    const found = outcomes.get(path) ?? findOutcomes(write, rule, path)
    outcomes.set(path, found)
    return found
  }
  const sourcesAt = (path: string): Cases =>
    [...outcomesAt(path).values()].flatMap(([when, one]) =>
      one.kind === 'fits' ? [[when, one.source] as const] : [],
    )
  const [faults, unfit, unbound] = [new Map<string, Diagram>(), [] as Diagram[], [] as Diagram[]]
  for (const name of new Set([...names, ...rule.set.keys()]))
    for (const [when, one] of outcomesAt(name).values()) {
      if (one.kind === 'unbound') unbound.push(when)
      if (one.kind === 'unfit') unfit.push(when)
      if (one.kind !== 'invalid') continue
      for (const code of one.faults) {
        const fault = `${name} ${code}`
        faults.set(fault, or(faults.get(fault) ?? NEVER, when))
      }
    }
  const isBound = not(or(...unbound))
  const isSound = not(or(...faults.values(), ...unfit))
  const system = systemSources(write)
  const isAdmitted = isAnywhere(rule.check)
    ? ALWAYS
    : whereHolds(logic, rule.check, (path) => {
        const own = Object.hasOwn(system, path) ? system[path] : undefined
        return own ? always(own) : sourcesAt(path)
      })
  const isTried = and(not(isIdle), isBound)
  return {
    isWhole,
    isIdle: keepsNothing,
    runs: or(isIdle, and(isBound, isSound, isAdmitted)),
    faults: new Map([...faults].map(([fault, when]) => [fault, and(isTried, when)])),
    stored: {
      rule,
      accepts,
      isKept,
      isGiven: (name) => (replaces(write, rule, name) ? or(isKept(name), write.shows(name)) : isKept(name)),
      sourcesOf: (name) => {
        if (!rule.set.has(name) || isIdle === NEVER) return sourcesAt(name)
        const written = sourcesAt(name).map(([when, source]) => [and(not(isIdle), when), source] as const)
        return [[isIdle, variable(storedKey(name))], ...written]
      },
    },
  }
}

/** Whether a PUT replaces a shown property that it does not name. */
function replaces({ mode, sight: { collection } }: Write, rule: Rule, name: string): boolean {
  if (mode !== 'put' || rule.set.has(name)) return false
  const stored = documentWith(name, STORED_VALUE)
  const run = compileRule(mode, collection, rule, name)
  const { outcome: left } = run({ body: {}, stored, isShown: true, values: new Map() })
  const stays = left.kind === 'fits' && left.source.kind === 'variable' && left.source.key === storedKey(name)
  return !stays
}

/** A sample `_id` of a new document. Conditions cannot name it, because the `_id` is chosen at creation. */
const NEW_ID = '01990000-0000-7000-8000-00000000ffff'

/** Returns the sources of the fields that the service sets. */
function systemSources({ mode, isAccount, isSignedIn }: Write): { readonly [name: string]: Source } {
  const stay = (name: string): Source => variable(storedKey(name))
  if (mode !== 'create')
    return {
      _id: stay('_id'),
      createdAt: stay('createdAt'),
      createdBy: stay('createdBy'),
      updatedAt: variable(TIME),
    }
  const creator = isSignedIn ? variable(CALLER_ID) : fixed(undefined)
  return {
    _id: fixed(NEW_ID),
    createdAt: variable(TIME),
    updatedAt: variable(TIME),
    createdBy: isAccount ? fixed(NEW_ID) : creator,
  }
}

/** The outcomes of a rule for one field, by their text, each with its condition. */
type Outcomes = ReadonlyMap<string, readonly [when: Diagram, outcome: FieldOutcome]>

/** Classes of inputs: the condition of each, and an input that represents it. */
type Classes<T> = readonly (readonly [when: Diagram, sample: T])[]

/**
 * Runs a rule on each class of inputs that it may distinguish at a path: of the body, of the stored document, of the
 * right to read the field, and of the caller's values in `set`.
 */
function findOutcomes(write: Write, rule: Rule, path: string): Outcomes {
  const { mode, sight, shows } = write
  const { logic, collection } = sight
  const [name = path] = path.split('.')
  const bodies = bodyClasses(write, rule, path)
  const isShown = mode === 'create' ? ALWAYS : shows(name)
  const shown: Classes<boolean> = [
    [isShown, true],
    [logic.not(isShown), false],
  ]
  const isImmutable = collection.fields.some((field) => field.name === path && field.definition.immutable)
  const runCreate = compileRule('create', collection, rule, path)
  const runMode = mode === 'create' ? runCreate : compileRule(mode, collection, rule, path)
  const run = (input: FieldInput): Outcomes => {
    const { outcome } = runMode(input)
    return new Map([[JSON.stringify(outcome), [ALWAYS, outcome]]])
  }
  const variables = [...new Set(findVariables(rule.set.get(name)))]
  // Values of which a create makes the same are alike in every other way.
  const alike = new Map<string, Outcomes>()
  return overValues(logic, variables, (values) => {
    const created = runCreate({ body: {}, stored: {}, isShown: true, values })
    const text = JSON.stringify(created.outcome)
    const outcomes =
      alike.get(text) ??
      overClasses(logic, shown, (isShown) =>
        overClasses(logic, bodies, (body) => {
          const input = { body, isShown, values }
          if (mode === 'create') return run({ ...input, stored: {} })
          const written = isImmutable ? findWritten(rule, path, body, created) : undefined
          return overStored(logic, path, written, (stored) => run({ ...input, stored }))
        }),
      )
    alike.set(text, outcomes)
    return outcomes
  })
}

/** Runs each class. A condition that makes no difference is left out. */
function overClasses<T>(logic: Logic, classes: Classes<T>, run: (sample: T) => Outcomes): Outcomes {
  const ran = classes.flatMap(([when, sample]) => (when === NEVER ? [] : [[when, run(sample)] as const]))
  const [first] = ran
  if (first && ran.every(([, outcomes]) => textOf(outcomes) === textOf(first[1]))) return first[1]
  const all = new Map<string, readonly [Diagram, FieldOutcome]>()
  for (const [when, outcomes] of ran)
    for (const [text, [also, outcome]] of outcomes)
      all.set(text, [logic.or(all.get(text)?.[0] ?? NEVER, logic.and(when, also)), outcome])
  return all
}

const textOf = (outcomes: Outcomes): string => [...outcomes].map(([text, [when]]) => `${text} ${when}`).join()

/** Runs each combination of the values that the caller can have for some variables. */
function overValues(
  logic: Logic,
  [first, ...others]: readonly string[],
  run: (values: FieldInput['values']) => Outcomes,
): Outcomes {
  if (first === undefined) return run(new Map())
  const { key } = sourceOfVariable(first)
  const groups = new Map<string, { readonly members: Set<unknown>; readonly outcomes: Outcomes }>()
  for (const value of logic.valuesOf(key)) {
    if (others.length > 0) logic.spend()
    const outcomes = overValues(logic, others, (values) => run(new Map([...values, [first, formOf(value)]])))
    const group = groups.get(textOf(outcomes)) ?? { members: new Set(), outcomes }
    groups.set(textOf(outcomes), group)
    group.members.add(value)
  }
  const classes = [...groups.values()].map(
    ({ members, outcomes }) => [logic.test(key, (value) => members.has(value)), outcomes] as const,
  )
  return overClasses(logic, classes, (outcomes) => outcomes)
}

/** Returns the classes of a body at a path. A body in which the rule drops the field is as if it did not contain it. */
function bodyClasses({ sight, body }: Write, rule: Rule, path: string): Classes<JsonObject> {
  const { logic, collection } = sight
  const [name = path] = path.split('.')
  if (!Object.hasOwn(keep(collection, rule, { [name]: true }).body, name)) return [[ALWAYS, {}]]
  const isValue = logic.not(body.isNull(name))
  const given = classesAt(logic, path, body.names, sampleOf(logic, bodyKey(path)))
  return [
    ...given.map(([when, sample], i) => [i === 0 ? when : logic.and(isValue, when), sample] as const),
    [body.isNull(name), { [name]: null }],
  ]
}

/** Returns a valid value of a variable. */
function sampleOf(logic: Logic, key: string): unknown {
  const value = logic.valuesOf(key).find((one) => one !== undefined && !isNull(one))
  return formOf(value)
}

/**
 * Returns the classes of a document at a path: without the field, with it but without the next name of the path, and so
 * on, and with the value `leaf`.
 */
function classesAt(
  { and, not }: Logic,
  path: string,
  isThereAt: (path: string) => Diagram,
  leaf: unknown,
): Classes<JsonObject> {
  const names = path.split('.')
  const places = names.map((_, i) => names.slice(0, i + 1).join('.'))
  const classes: [Diagram, JsonObject][] = [[not(isThereAt(places[0] ?? path)), {}]]
  for (const [i, place] of places.entries()) {
    const next = places[i + 1]
    if (next === undefined) classes.push([isThereAt(place), documentWith(place, leaf)])
    else classes.push([and(isThereAt(place), not(isThereAt(next))), documentWith(place, {})])
  }
  return classes
}

/** A value, and its source, that a rule writes to a field regardless of the stored document. */
interface WrittenValue {
  readonly value: unknown
  readonly source: Source
}

/** Runs each class of the stored document. The value of an immutable field may be the same as the `written` one. */
function overStored(
  logic: Logic,
  path: string,
  written: WrittenValue | undefined,
  run: (stored: JsonObject) => Outcomes,
): Outcomes {
  const stay = (place: string): Cases => always(variable(storedKey(place)))
  const isThereAt = (place: string): Diagram => isThere(logic, stay(place))
  const whole = run(documentWith(path, STORED_VALUE))
  const classes = classesAt(logic, path, isThereAt, STORED_VALUE).flatMap(
    ([when, stored], i): Classes<JsonObject> => {
      if (i === 0 || !written) return [[when, stored]]
      const isAgain = isSame(logic, stay(path), always(written.source))
      return [
        [logic.and(when, isAgain), documentWith(path, written.value)],
        [logic.and(when, logic.not(isAgain)), stored],
      ]
    },
  )
  return overClasses(logic, classes, (stored) => {
    const outcomes = run(stored)
    // A value that stays stays missing too.
    return outcomes.has(GONE) && isStored(whole, path) ? whole : outcomes
  })
}

/** Returns the value that a rule writes to a field regardless of the stored document, if any. */
function findWritten(
  { set }: Rule,
  path: string,
  body: JsonObject,
  created: FieldRun,
): WrittenValue | undefined {
  const given = readOwn(body, path) ?? undefined
  if (given !== undefined) return { value: given, source: variable(bodyKey(path)) }
  const { outcome, value } = created
  return set.has(path) && outcome.kind === 'fits' && value !== undefined
    ? { value, source: outcome.source }
    : undefined
}

const GONE = JSON.stringify({ kind: 'fits', source: fixed(undefined) } satisfies FieldOutcome)

const isStored = (outcomes: Outcomes, path: string): boolean =>
  outcomes.has(JSON.stringify({ kind: 'fits', source: variable(storedKey(path)) } satisfies FieldOutcome))
