import type { Claim } from '../../../config/plan.js'
import type { Field } from '../../../fields/field-type.js'
import type { ComparableType } from '../../../filter/filter.js'
import { USER } from '../../../query/variable.js'
import { KIND_OF, type ListMark, listOf, type Variable } from '../solver/variable.js'
import type { CandidateValues } from './group-values.js'
import { callerKey } from './sources.js'

/** The possible values of callers. */
export interface CallerValues {
  /** Their fields, if the service keeps the accounts; `null` if the host names callers. */
  readonly fields: ReadonlyMap<string, Field> | null
  readonly claims: ReadonlyMap<string, Claim>
}

/** Whether all signed-in callers, or all callers, have a claim. */
const isAlwaysThere = ({ where }: Claim, isSignedIn: boolean): boolean =>
  where.kind === 'fixed' ||
  where.variables.every((name) => !name.startsWith(USER) || (isSignedIn && name === `${USER}_id`))

/**
 * The possible values of a caller's field: lists for claims; else anything if the host names callers, and the values
 * that the schema of `users` accepts if it does not.
 */
export function callerVariable(
  key: string,
  candidates: CandidateValues,
  { fields: callerFields, claims }: CallerValues,
  isSignedIn: boolean,
): Variable {
  const parent = null
  const claim = claims.get(key.slice(callerKey('').length))
  const isThere = claim !== undefined && isAlwaysThere(claim, isSignedIn)
  if (claim && (isSignedIn || isThere)) {
    const { type } = claim.taken
    const lists = [listOf(KIND_OF[type]), ...(isThere ? [] : [undefined])]
    return { key, values: lists, elements: candidates.ofType(key, type), parent }
  }
  if (!isSignedIn) return { key, values: [undefined], elements: [], parent }
  if (key === callerKey('_id')) return { key, values: candidates.ofType(key, 'string'), elements: [], parent }
  const path = key.slice(callerKey('').length)
  const field = callerFields?.get(path)
  if (callerFields && field) {
    const type = (field.items ?? field).fieldType
    const elements = type.isScalar ? candidates.ofType(key, type.valueType) : []
    const values = type.isScalar ? (field.items ? [listOf(KIND_OF[type.valueType])] : elements) : []
    return { key, values: [...values, undefined], elements, parent }
  }
  const types = new Set<ComparableType>([...candidates.typesOf(key), 'string', 'integer'])
  types.delete('boolean')
  const elements = [...new Set([...types].flatMap((type) => candidates.ofType(key, type)))]
  const lists: ListMark[] = [
    { of: 'string', hasElement: true },
    { of: 'number', hasElement: true },
    { of: null, hasElement: false },
  ]
  const values = [...elements, 0.5, true, false, ...lists, undefined]
  return { key, values, elements, parent }
}
