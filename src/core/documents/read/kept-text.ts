import type { ReadAccess } from '../../permissions/read-gate.js'
import { endless } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'

const decoder = new TextDecoder()

/** A readable document as JSON text, from its cached bytes if it is immutable. */
export function textOf(access: ReadAccess, document: StoredDocument): string {
  const kept = access.keep(document, endless())
  return kept ? decoder.decode(kept.bytes) : access.write(document)
}
