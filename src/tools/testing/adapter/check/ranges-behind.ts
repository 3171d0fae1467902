import { compileField } from '../../../../core/filter/compare.js'
import type { FieldRef, Filter, Scalar } from '../../../../core/filter/filter.js'
import type { SortKey, StoredDocument } from '../../../../core/storage.js'
import { eq, notOf, present } from './documents.js'

const isMissing = (field: FieldRef): Filter => notOf(present(field))

const isSame = (field: FieldRef, value: Scalar | undefined): Filter =>
  value === undefined ? isMissing(field) : eq(field, value)

function boundsBehind({ field, descending }: SortKey, value: Scalar | undefined): readonly Filter[] {
  if (value === undefined) return descending ? [] : [present(field)]
  if (!descending) return [{ kind: 'gt', field, value }]
  return [{ kind: 'lt', field, value }, isMissing(field)]
}

/**
 * Returns filters that together match all documents after a given document of a sorted list. Each filter fixes the
 * first sort keys and bounds the next one.
 */
export const rangesBehind = (sort: readonly SortKey[], document: StoredDocument): readonly Filter[] =>
  sort.flatMap((key, depth) => {
    const same = sort.slice(0, depth).map(({ field }) => isSame(field, compileField(field)(document)))
    return boundsBehind(key, compileField(key.field)(document)).map(
      (bound): Filter => ({ kind: 'and', filters: [...same, bound] }),
    )
  })
