import type { Collection } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import type { Scalar } from '../../../../core/filter/filter.js'
import { isEqualJson } from '../../../../core/json/equality.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import { isVariable } from '../../../../core/query/variable.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import { toDiagram } from './conditions.js'
import { type Cases, overCases, type Source, sourceOfVariable } from './sources.js'

/** Returns the condition under which a value exists. */
export const isThere = (logic: Logic, cases: Cases): Diagram =>
  overCases(logic, cases, (source) =>
    source.kind === 'fixed'
      ? toDiagram(source.value !== undefined && source.value !== null)
      : logic.test(source.key, (value) => value !== undefined && !isNull(value)),
  )

const isNull = (value: Value): boolean => isOpaque(value) && value.sample === null

/** Returns the condition under which two values are the same. Two missing values are the same. */
export const isSame = (logic: Logic, a: Cases, b: Cases): Diagram =>
  overCases(logic, a, (one) => overCases(logic, b, (other) => isSameSource(logic, one, other)))

function isSameSource(logic: Logic, a: Source, b: Source): Diagram {
  if (a.kind === 'fixed')
    return b.kind === 'fixed' ? toDiagram(isEqualJson(a.value, b.value)) : isSameSource(logic, b, a)
  if (b.kind === 'fixed') {
    const { value } = b
    if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
      return logic.atom({ kind: 'same', on: a.key, other: value as readonly Scalar[] })
    return logic.test(a.key, (one) => isEqualJson(toPlain(one), value))
  }
  if (a.key === b.key) return ALWAYS
  const haveSameForm = logic.atom({ kind: 'compare', on: a.key, other: b.key, test: isSameForm }, 'form')
  const areLists = logic.test(a.key, isList)
  if (areLists === NEVER) return haveSameForm
  const areSameLists = logic.atom({ kind: 'same', on: a.key, other: b.key })
  return logic.and(haveSameForm, logic.or(logic.not(areLists), areSameLists))
}

const toPlain = (value: Value): unknown =>
  isOpaque(value) ? (value.sample ?? undefined) : isList(value) ? LIST : value

const LIST = Symbol('list')

/** Whether two values are equal except for the elements of lists. */
const isSameForm = (a: Value, b: Value): boolean =>
  isList(a) || isList(b) ? isList(a) && isList(b) : isEqualJson(toPlain(a), toPlain(b))

/** Returns the condition under which the caller's values in `set` are valid for a field and its properties. */
export function isFittingSet(logic: Logic, collection: Collection, field: Field, written: unknown): Diagram {
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
