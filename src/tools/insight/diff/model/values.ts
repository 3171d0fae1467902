import type { Scalar } from '../../../../core/filter/filter.js'
import { isEqualJson } from '../../../../core/json/equality.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import { toDiagram } from './conditions.js'
import { type Cases, overCases, type Source } from './sources.js'

/** Returns the condition under which a value exists. */
export const isThere = (logic: Logic, cases: Cases): Diagram =>
  overCases(logic, cases, (source) =>
    source.kind === 'fixed'
      ? toDiagram(source.value !== undefined && source.value !== null)
      : logic.test(source.key, (value) => value !== undefined && !isNull(value)),
  )

/** Whether a value of a body is `null`. */
export const isNull = (value: Value): boolean => isOpaque(value) && value.sample === null

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
