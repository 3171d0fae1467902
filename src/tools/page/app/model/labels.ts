import type { DescribedCollection } from './description.js'
import type { Field } from './schema.js'

const SYSTEM = new Set(['_id', 'createdAt', 'updatedAt', 'createdBy'])

/** Whether a field is a system field, which only the service sets. */
export const isSystem = (name: string): boolean => SYSTEM.has(name)

/**
 * Returns the field whose value is the label of a document: the first readable text, or else the first choice between
 * strings.
 */
export function labelField(collection: DescribedCollection | undefined): Field | undefined {
  const own = collection?.fields.filter(({ name }) => !isSystem(name)) ?? []
  return (
    own.find(({ kind }) => kind === 'text' || kind === 'long') ??
    own.find(({ kind, choices }) => kind === 'choice' && choices.every((one) => typeof one === 'string'))
  )
}

/** Returns the label of a document; the end of its `_id` if it has no label. */
export function labelOf(collection: DescribedCollection | undefined, document: unknown): string {
  const field = labelField(collection)
  const own = document as { readonly [name: string]: unknown } | null
  const text = field && own?.[field.name]
  return typeof text === 'string' && text.trim() !== '' ? text : shortId(own?._id)
}

/** Returns the end of an `_id`, because the beginning is a time, which many documents share. */
export const shortId = (id: unknown): string => (typeof id === 'string' ? `…${id.slice(-6)}` : '')
