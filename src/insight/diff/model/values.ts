import type { Collection } from '../../../config/plan.js'
import type { Field } from '../../../fields/field-type.js'
import type { Scalar } from '../../../filter/filter.js'
import { isEqualJson } from '../../../json/equality.js'
import { toPointerPart } from '../../../json/pointer.js'
import { isVariable } from '../../../query/variable.js'
import type { Ask } from '../solver/explore.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import { type Source, sourceOfVariable } from './sources.js'

/** Whether there is a value. */
export function isThere(ask: Ask, source: Source): boolean {
  if (source.kind === 'fixed') return source.value !== undefined && source.value !== null
  return ask({ kind: 'test', on: source.key, test: (value) => value !== undefined && !isNull(value) })
}

const isNull = (value: Value): boolean => isOpaque(value) && value.sample === null

/** Whether two values are the same; both may be missing. */
export function isSame(ask: Ask, a: Source, b: Source): boolean {
  if (a.kind === 'fixed') return b.kind === 'fixed' ? isEqualJson(a.value, b.value) : isSame(ask, b, a)
  if (b.kind === 'fixed') {
    const { value } = b
    if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
      return ask({ kind: 'same', on: a.key, other: value as readonly Scalar[] })
    return ask({ kind: 'test', on: a.key, test: (one) => isEqualJson(toPlain(one), value) })
  }
  if (a.key === b.key) return true
  const isSameValue = ask({ kind: 'compare', on: a.key, other: b.key, test: isSameForm })
  if (!isSameValue) return false
  const areLists = ask({ kind: 'test', on: a.key, test: isList })
  return !areLists || ask({ kind: 'same', on: a.key, other: b.key })
}

const toPlain = (value: Value): unknown =>
  isOpaque(value) ? (value.sample ?? undefined) : isList(value) ? LIST : value

const LIST = Symbol('list')

/** Two lists have the same form, whatever is in them. */
const isSameForm = (a: Value, b: Value): boolean =>
  isList(a) || isList(b) ? isList(a) && isList(b) : isEqualJson(toPlain(a), toPlain(b))

/** Whether what a caller has is a value of a field. */
export function isFittingSet(ask: Ask, collection: Collection, field: Field, written: unknown): boolean {
  if (!isVariable(written)) return true
  const source = sourceOfVariable(written)
  if (source.kind === 'fixed') return true
  const at = toPointerPart(field.name)
  return ask({
    kind: 'test',
    on: source.key,
    test: (value) =>
      !collection
        .validate({ [field.name]: sampleOf(value) }, { limit: Number.POSITIVE_INFINITY })
        .some(({ path }) => path === at || path.startsWith(`${at}/`)),
  })
}

const SAMPLES = { string: 'a', number: 1, boolean: true } as const

const sampleOf = (value: Value): unknown => {
  if (isList(value)) return value.of === null ? [] : [SAMPLES[value.of]]
  return isOpaque(value) ? value.sample : value
}
