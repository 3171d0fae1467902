import type { DescribedCollection } from './description.js'
import type { Field } from './schema.js'

const SYSTEM = new Set(['_id', 'createdAt', 'updatedAt', 'createdBy'])

/** Whether the service sets a field. */
export const isSystem = (name: string): boolean => SYSTEM.has(name)

/** The field that labels a document: its first readable text, else its first choice. */
export function labelField(collection: DescribedCollection | undefined): Field | undefined {
  const own = collection?.fields.filter(({ name }) => !isSystem(name)) ?? []
  return (
    own.find(({ kind }) => kind === 'text' || kind === 'long') ??
    own.find(({ kind, choices }) => kind === 'choice' && choices.every((one) => typeof one === 'string'))
  )
}

/** The label of a document; without one, the end of its `_id`. */
export function labelOf(collection: DescribedCollection | undefined, document: unknown): string {
  const field = labelField(collection)
  const own = document as { readonly [name: string]: unknown } | null
  const text = field && own?.[field.name]
  return typeof text === 'string' && text.trim() !== '' ? text : shortId(own?._id)
}

/** The end of an `_id`: its beginning is the time, which many have in common. */
export const shortId = (id: unknown): string => (typeof id === 'string' ? `…${id.slice(-6)}` : '')
