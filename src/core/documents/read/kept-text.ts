import type { ReadAccess } from '../../permissions/read-gate.js'
import { endless } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'

const decoder = new TextDecoder()

/** Returns a readable document as JSON text. Uses its cached bytes if the document is immutable. */
export function textOf(access: ReadAccess, document: StoredDocument): string {
  const kept = access.keep(document, endless())
  return kept ? decoder.decode(kept.bytes) : access.write(document)
}
