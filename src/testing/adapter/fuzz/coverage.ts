import type { Filter } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import type { ListQuery, StoredDocument } from '../../../storage.js'
import { listPlainly } from '../check/plain-array.js'

/** The coverage of a fuzzer run. */
export interface FuzzCoverage {
  readonly stores: number
  readonly queries: number
  /** The share of non-trivial answers: neither empty nor with every document of the store. */
  readonly nonTrivial: number
  /** The number of queries for each operator and type, as `lt integer`, `eq string[]` for elements, `sort number`. */
  readonly conditions: { readonly [operatorAndType: string]: number }
}

/** Counts queries as they run. */
export interface CoverageCounter {
  addStore(): void
  addQuery(documents: readonly StoredDocument[], query: ListQuery): void
  total(): FuzzCoverage
}

function* namesOf(filter: Filter): Iterable<string> {
  switch (filter.kind) {
    case 'and':
    case 'or':
      for (const part of filter.filters) yield* namesOf(part)
      break
    case 'not':
      yield* namesOf(filter.filter)
      break
    default:
      yield `${filter.kind} ${filter.field.type}${filter.field.each ? '[]' : ''}`
  }
}

/** Creates a counter. */
export function createCoverageCounter(): CoverageCounter {
  const conditions = new Map<string, number>()
  let [stores, queries, nonTrivial] = [0, 0, 0]
  return {
    addStore() {
      stores += 1
    },
    addQuery(documents, query) {
      queries += 1
      const found = documents.filter(compileFilter(query.filter)).length
      if (found < documents.length && listPlainly(documents, query).length > 0) nonTrivial += 1
      const sorts = query.sort.map(({ field }) => `sort ${field.type}`)
      for (const name of [...namesOf(query.filter), ...sorts])
        conditions.set(name, (conditions.get(name) ?? 0) + 1)
    },
    total: () => ({
      stores,
      queries,
      nonTrivial: queries === 0 ? 0 : nonTrivial / queries,
      conditions: Object.fromEntries([...conditions].sort()),
    }),
  }
}
