import { type Filter, type ListedValues, nameField, or, type Scalar } from './filter.js'

/** An `or` of equalities on one field. */
export interface Equalities extends ListedValues {
  readonly kind: 'one of'
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
