import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { isChange } from '../../../fields/schema/changes.js'
import { isFreeName } from '../../../fields/schema/names.js'
import { MAX_FAULTS, MAX_PATH } from '../../../fields/schema/validator.js'
import { isObject } from '../../../json/own-properties.js'
import { toPointerPart } from '../../../json/pointer.js'
import { whenReady } from '../../../promises.js'
import type { JsonObject } from '../../../types.js'
import { firstOfEach, type Stage } from '../draft.js'

/** Validates a new document. */
export const validateNew: Stage = {
  name: 'validate',
  judge(draft) {
    const { collection, fields, slices } = draft
    // Missing fields that a hook may still fill are not reported.
    const isRelevant = (fault: Fault): boolean => !isFilledLater(collection, fault) && draft.tells(fault)
    return whenReady(collection.validate.inSlices(fields, slices, { isRelevant }), (found) => {
      draft.addFaults(found)
      return undefined
    })
  },
}

const isFilledLater = ({ fills }: Collection, { path, code }: Fault): boolean =>
  fills.size > 0 && code === 'required' && [...fills].some((name) => path === toPointerPart(name))

/**
 * Validates an update of the document as its caller may read it. Only changes are reported: the document may violate a
 * configuration that is newer than its values.
 */
export const validateUpdate: Stage = {
  name: 'validate',
  judge(draft) {
    const { collection, seen, slices, write, faults } = draft
    const { validate } = collection
    const { before, after, open } = seen
    const nulls = write.operation === 'patch' ? findUnknownNulls(collection, open) : []
    const told = [...faults, ...nulls].filter((fault) => draft.tells(fault))
    const validating = validate.inSlices(after, slices, {
      known: told.length > 1 ? firstOfEach(told).slice(0, MAX_FAULTS) : told,
      isRelevant: (fault) => isChange(fault, open, before, after) && draft.tells(fault),
    })
    return whenReady(validating, (found) => {
      draft.faults = found
      return undefined
    })
  },
}

/**
 * Returns a validation error for each unknown name that a PATCH sets to `null`. Without the error, a misspelt name
 * would go unnoticed.
 */
function findUnknownNulls(
  { fields, ...free }: Pick<Collection, 'fields' | 'additionalProperties' | 'reserved'>,
  patch: JsonObject,
  at = '',
): readonly Fault[] {
  const byName = new Map(fields.map((field) => [field.name, field]))
  return Object.entries(patch).flatMap(([name, value]): readonly Fault[] => {
    const path = at + toPointerPart(name)
    const field = byName.get(name)
    if (field?.type === 'object' && isObject(value))
      return findUnknownNulls({ ...CLOSED, fields: field.properties }, value, path)
    const isKnown = field !== undefined || value !== null || isFreeName(free, name)
    return isKnown
      ? []
      : [{ path: path.slice(0, MAX_PATH), code: 'unknown_property', message: 'is not in the schema' }]
  })
}

/** Ends the evaluation of a draft with validation errors. All later stages may rely on a valid document. */
export const faults: Stage = { name: 'faults', judge: (draft) => draft.rejectFaulty() }

const CLOSED = { additionalProperties: false, reserved: new Set<string>() }
