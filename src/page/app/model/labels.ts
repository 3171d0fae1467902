import type { DescribedCollection } from './description.js'
import type { Field } from './schema.js'

const SYSTEM = new Set(['_id', 'createdAt', 'updatedAt', 'createdBy'])

/** Whether the service itself gives a field its value. */
export const isSystem = (name: string): boolean => SYSTEM.has(name)

/** The field by which a document is known: its first readable text; where there is none, its first choice. */
export function labelField(collection: DescribedCollection | undefined): Field | undefined {
  const own = collection?.fields.filter(({ name }) => !isSystem(name)) ?? []
  return (
    own.find(({ kind }) => kind === 'text' || kind === 'long') ??
    own.find(({ kind, choices }) => kind === 'choice' && choices.every((one) => typeof one === 'string'))
  )
}

/** The name of a document for people; where it has none, the end of its `_id`. */
export function labelOf(collection: DescribedCollection | undefined, document: unknown): string {
  const field = labelField(collection)
  const own = document as { readonly [name: string]: unknown } | null
  const text = field && own?.[field.name]
  return typeof text === 'string' && text.trim() !== '' ? text : shortId(own?._id)
}

/** The end of an `_id`: its beginning is the time, which many share. */
export const shortId = (id: unknown): string => (typeof id === 'string' ? `…${id.slice(-6)}` : '')
