import type { Listed, StoredDocument } from '../../../core/storage.js'

/**
 * Collects the documents of a page until their JSON texts exceed `bytes`, but at least one document. For all later
 * documents, collects only the ids.
 */
export function collectPage(bytes = Number.POSITIVE_INFINITY) {
  const documents: StoredDocument[] = []
  const rest: string[] = []
  let held = 0
  return {
    /** Adds a document. `size`: the bytes of its text. */
    add(document: StoredDocument, size: number): void {
      held += size
      if (rest.length === 0 && (documents.length === 0 || held <= bytes)) documents.push(document)
      else rest.push(document._id)
    },
    /** Adds the id of a document that is not read, because the page is full. */
    addRest: (id: string): void => void rest.push(id),
    isFull: (): boolean => rest.length > 0,
    list: (): Listed => (rest.length > 0 ? Object.assign(documents, { rest }) : documents),
  }
}
