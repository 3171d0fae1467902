import type { Fault } from '../../../errors.js'
import { applyDefaultsSliced, normaliseSliced } from '../../../fields/schema/normalise.js'
import { toPointerPart } from '../../../json/pointer.js'
import { whenReady } from '../../../promises.js'
import type { Stage } from '../draft.js'

/** Converts the values of a new document to their stored form. */
export const normalise: Stage = {
  name: 'normalise',
  judge(draft) {
    const { collection, given, slices, write } = draft
    return whenReady(normaliseSliced(collection.fields, given, slices), (fields) => {
      draft.fields = fields
      // These are looked for before defaults are added: a default does not satisfy them.
      const missing = write.required?.filter((name) => !Object.hasOwn(fields, name)) ?? []
      draft.faults = missing.map(required)
      return undefined
    })
  },
}

/** Creates the validation error for a missing property. */
export const required = (name: string): Fault => ({
  path: toPointerPart(name),
  code: 'required',
  message: 'is required',
})

/** Adds the defaults of missing properties to a new document. */
export const defaults: Stage = {
  name: 'defaults',
  judge(draft) {
    const { collection, fields, system, slices } = draft
    const now = system.createdAt
    return whenReady(applyDefaultsSliced(collection.fields, fields, now, slices), (filled) => {
      draft.fields = filled
      return undefined
    })
  },
}
