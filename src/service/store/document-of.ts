import type { Filter } from '../../filter/filter.js'
import type { WriteStep } from '../../storage.js'

/** The document on whose version a step depends, as one text. `undefined` if it depends on none, or on many. */
export function documentOf(step: WriteStep | undefined): string | undefined {
  const id = step && idOf(step)
  return id && `${step.in}/${id}`
}

/** The documents that steps create, change or remove. `require` steps are excluded: readers do not block writers. */
export const writtenBy = (steps: readonly WriteStep[]): readonly string[] =>
  steps.flatMap((step) => ('require' in step ? [] : (documentOf(step) ?? [])))

/** The `_id` of the document on whose version a step depends; `undefined` as in `documentOf`. */
export function idOf(step: WriteStep): string | undefined {
  if ('insert' in step) return step.insert._id
  if ('replace' in step) return step.replace._id
  if ('require' in step) return step.version === undefined ? undefined : step.require
  return 'remove' in step && step.expect !== undefined ? idIn(step.remove) : undefined
}

/** The id that a filter requires, alone or with other conditions. */
function idIn(filter: Filter): string | undefined {
  if (filter.kind === 'and') return filter.filters.map(idIn).find((id) => id !== undefined)
  return filter.kind === 'eq' && filter.field.path === '_id' ? String(filter.value) : undefined
}
