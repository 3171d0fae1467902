import { type FieldRef, type Filter, or, type Scalar } from './filter.js'

/** Alternative equalities on one field. */
export interface Equalities {
  readonly kind: 'one of'
  readonly field: FieldRef
  readonly values: readonly Scalar[]
}

type Equality = Extract<Filter, { readonly value: Scalar }>

/** Joins the equalities of an `or` by field: a thousand ids then take one lookup, not a thousand comparisons. */
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

/** The alternatives of an `or`, with the equalities on one field as one alternative. */
export function groupEqualities(filters: readonly Filter[]): readonly Filter[] {
  const { lists, others } = gather(filters)
  return [...lists.map(or), ...others]
}

/** The equalities on each field, and the other filters. */
function gather(filters: readonly Filter[]) {
  const byField = new Map<string, Equality[]>()
  const others: Filter[] = []
  for (const filter of filters) {
    if (filter.kind !== 'eq') {
      others.push(filter)
      continue
    }
    const { path, type, each, inside = '' } = filter.field
    const key = `${path} ${type} ${each} ${inside}`
    const known = byField.get(key)
    if (known) known.push(filter)
    else byField.set(key, [filter])
  }
  return { lists: [...byField.values()], others }
}
