import type { FieldRef, Filter } from '../../../../core/filter/filter.js'
import { JAVASCRIPT, printPattern } from '../../../../core/filter/pattern/syntax/print-pattern.js'
import type { ListQuery } from '../../../../core/storage.js'
import { print } from './check.js'

const printField = ({ path, type, each, inside }: FieldRef): string =>
  `${path}${each ? '[]' : ''}${inside === undefined ? '' : `.${inside}`}: ${type}`

/** Prints a filter on one line, for people. */
export function printFilter(filter: Filter): string {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return `${filter.kind}(${filter.filters.map(printFilter).join(', ')})`
    case 'not':
      return `not(${printFilter(filter.filter)})`
    case 'present':
      return `present(${printField(filter.field)})`
    case 'match':
      return `match(${printField(filter.field)}, /${printPattern(filter.pattern, JAVASCRIPT)}/)`
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return `${filter.kind}(${printField(filter.field)}, ${print(filter.value)})`
    default:
      return filter satisfies never
  }
}

/** Prints a query on one line, for people. */
export function printQuery({
  filter,
  sort = [],
  skip = 0,
  limit = null,
}: Pick<ListQuery, 'filter'> & Partial<ListQuery>): string {
  const keys = sort.map(({ field, descending }) => `${descending ? '-' : '+'}${printField(field)}`)
  return [
    printFilter(filter),
    ...(keys.length > 0 ? [`sort ${keys.join(' ')}`] : []),
    ...(skip > 0 ? [`skip ${skip}`] : []),
    ...(limit === null ? [] : [`limit ${limit}`]),
  ].join(', ')
}
