import { compileFilter } from '../../../../core/filter/matches.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../../../core/storage.js'

/** The documents of a collection, by `_id`. */
export type Documents = Map<string, StoredDocument>

type Reason = Extract<WriteResult, { readonly ok: false }>['reason']

/**
 * Applies a step to the documents of a collection that has no unique indexes. Returns the reason if the step is
 * rejected.
 */
export function applyPlainly(documents: Documents, step: WriteStep): Reason | undefined {
  if ('insert' in step) {
    if (documents.has(step.insert._id)) return 'unique'
    documents.set(step.insert._id, step.insert)
  } else if ('replace' in step) {
    if (documents.get(step.replace._id)?._version !== step.version) return 'changed'
    documents.set(step.replace._id, step.replace)
  } else if ('require' in step) {
    const present = documents.get(step.require)
    if (!present) return 'missing'
    if (step.version !== undefined && step.version !== present._version) return 'changed'
    if (step.where && !compileFilter(step.where)(present)) return 'changed'
  } else {
    const matches = compileFilter('remove' in step ? step.remove : step.refuse)
    const found = [...documents.values()].filter(matches)
    if ('refuse' in step) return found.length > 0 ? 'found' : undefined
    if (step.expect !== undefined && step.expect !== found.length) return 'changed'
    for (const { _id } of found) documents.delete(_id)
  }
  return undefined
}
