import { type FieldRef, type Filter, isOn, nameField, or, type Scalar } from './filter.js'

/** An `or` of equalities on one field. */
export interface Equalities {
  readonly kind: 'one of'
  readonly field: FieldRef
  readonly values: readonly Scalar[]
}

type Equality = Extract<Filter, { readonly value: Scalar }>

/**
 * Joins the equalities of an `or` by field, so that a thousand ids take one lookup instead of a thousand
 * comparisons.
 */
export function joinEqualities(filters: readonly Filter[]): readonly (Filter | Equalities)[] {
  const { lists, others } = gather(filters)
  const joined = lists.map((list): Filter | Equalities => {
    const [first] = list
    return first && list.length > 1
      ? { kind: 'one of', field: first.field, values: list.map(({ value }) => value) }
      : or(list)
  })
  return [...joined, ...others]
}

/** Returns the alternatives of an `or`. All equalities on one field become one alternative. */
export function groupEqualities(filters: readonly Filter[]): readonly Filter[] {
  const { lists, others } = gather(filters)
  return [...lists.map(or), ...others]
}

/**
 * Returns the field and the values of an equality, or of an `or` of equalities on one field; otherwise `undefined`.
 */
export function readEqualities(filter: Filter): Pick<Equalities, 'field' | 'values'> | undefined {
  const parts = filter.kind === 'or' ? filter.filters : [filter]
  const [first] = parts
  if (first?.kind !== 'eq') return undefined
  const { field } = first
  const values: Scalar[] = []
  for (const part of parts) {
    if (part.kind !== 'eq' || (part.field !== field && !isOn(part.field, field))) return undefined
    values.push(part.value)
  }
  return { field, values }
}

/** Separates the equalities on each field from the other filters. */
function gather(filters: readonly Filter[]) {
  const byField = new Map<string, Equality[]>()
  const others: Filter[] = []
  for (const filter of filters) {
    if (filter.kind !== 'eq') {
      others.push(filter)
      continue
    }
    const key = nameField(filter.field)
    const known = byField.get(key)
    if (known) known.push(filter)
    else byField.set(key, [filter])
  }
  return { lists: [...byField.values()], others }
}
