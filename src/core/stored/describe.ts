import { isFieldName } from '../fields/schema/names.js'
import type { LeftIndex } from '../storage.js'
import { type CountedMisfit, OTHERS, UNDECLARED } from './misfits.js'

/** Describes a unique index of another configuration; the end of a sentence about the collection. */
export const describeLeft = ({ fields, mend }: Pick<LeftIndex, 'fields' | 'mend'>): string =>
  `documents must still have different values in ${fields.join(' and ')}, because another configuration declared this unique, and this configuration does not; to end this, ${mend}`

/** A stored name may have any characters, unlike a declared one. */
const toName = (field: string): string => (/^[\w.]+$/.test(field) ? field : JSON.stringify(field))

/** Describes a misfit; the beginning of a sentence that goes on with the number of documents. */
export function describeMisfit({
  field,
  error,
  message,
  renamed,
}: Pick<CountedMisfit, 'field' | 'error' | 'message' | 'renamed'>): string {
  if (error !== UNDECLARED) return `${toName(field)} ${message} (${error})`
  if (field === OTHERS.field) return `further names ${message}, so no response shows them`
  const question =
    renamed === undefined ? '' : ` (renamed to ${JSON.stringify(renamed)}?${suggestStored(field, renamed)})`
  return `${JSON.stringify(field)} ${message}, so no response shows it${question}`
}

/** Lists the first `_id`s of some documents. */
export const listIds = ({ count, ids }: Pick<CountedMisfit, 'count' | 'ids'>, most = ids.length): string =>
  `${ids.slice(0, most).join(', ')}${count > Math.min(most, ids.length) ? ', …' : ''}`

/** Says how a field keeps its values after a rename (CONTRACT.md §1, "Stored names"). */
function suggestStored(path: string, renamed: string): string {
  const name = path.split('.').at(-1) ?? ''
  return isFieldName(name) ? ` then ${JSON.stringify(renamed)} needs "stored": ${JSON.stringify(name)}` : ''
}
