import type { Collection } from '../../config/plan.js'
import { freezeCopy, freezeDeep } from '../../json/freeze-deep.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { StoredDocument } from '../../storage.js'
import type { Caller, Document, JsonObject } from '../../types.js'
import type { PlannedDocument, PlannedWrite } from '../hooks.js'
import { readFields } from '../write/stored-document.js'

/** The documents of a write, as its hook sees them. */
export interface ShownChange {
  readonly operation: 'create' | 'update' | 'delete'
  readonly before: Document | null
  readonly after: Document | null
}

/** A write as its hook sees it: both documents whole, but for hashes, and frozen. */
export function showChange({ collection, before, after }: PlannedWrite): ShownChange {
  const isHash = (name: string): boolean => collection.hashes.some((hash) => hash.name === name)
  const show = ({ fields, system }: PlannedDocument): Document => {
    const { _id, ...others } = system
    const open = Object.entries(fields).filter(([name]) => !isHash(name))
    return freezeDeep({ _id: String(_id), ...Object.fromEntries(open), ...others })
  }
  const old = before && planned(before)
  return {
    operation: after === null ? 'delete' : before === null ? 'create' : 'update',
    before: old && show(old),
    after: after && show(after),
  }
}

/** The same of a write that was made. */
export const showStored = (
  collection: Collection,
  before: StoredDocument | null,
  after: StoredDocument | null,
): ShownChange => showChange({ collection, before, after: after && planned(after) })

const planned = (document: StoredDocument): PlannedDocument => ({
  fields: readFields(document),
  system: readSystem(document),
})

const readSystem = ({ _id, createdAt, updatedAt, createdBy }: JsonObject): PlannedDocument['system'] => ({
  _id,
  createdAt,
  updatedAt,
  createdBy,
})

/** A caller, in the form in which a host names one. */
export function showCaller(caller: KnownCaller | null): Caller | null {
  if (caller === null) return null
  const { _id, ...fields } = caller.fields
  return freezeCopy({ ...fields, id: caller.id, roles: caller.roles })
}
