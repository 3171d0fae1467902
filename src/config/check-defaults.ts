import type { ConfigFault } from '../errors.js'
import { isObject } from '../filter/read-path.js'
import type { Field } from '../schema/field.js'
import { toPointerPart } from '../schema/names.js'
import { normaliseProperties } from '../schema/normalise.js'
import type { BodyValidator } from '../schema/validator.js'
import type { JsonObject } from '../types.js'

/** Every default must be a value that the field accepts. */
export function checkDefaults(
  fields: readonly Field[],
  validate: BodyValidator,
  at: string,
  faults: ConfigFault[],
): void {
  const sample = collectDefaults(fields)
  if (!sample) return
  const places = new Map<string, string>()
  collectPlaces(fields, '', `${at}/schema`, places)
  for (const { path, message } of validate(normaliseProperties(fields, sample), {
    limit: Number.POSITIVE_INFINITY,
  })) {
    for (const [pointer, place] of places) {
      if (path !== pointer && !path.startsWith(`${pointer}/`)) continue
      faults.push({
        path: `${place}/default`,
        message: `is no value of the field: ${path.slice(pointer.length)} ${message}`,
      })
      break
    }
  }
}

function collectDefaults(fields: readonly Field[]): JsonObject | undefined {
  const entries = fields.flatMap((field): [string, unknown][] => {
    const sample = sampleOf(field)
    return sample === undefined ? [] : [[field.name, sample]]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function sampleOf({ definition, properties, items }: Field): unknown {
  if (definition.type === 'hash') return undefined
  if (definition.type === 'timestamp' && definition.default === '$now') return undefined
  if (definition.default !== undefined) return definition.default
  if (definition.type === 'object') return collectDefaults(properties)
  const inside = items && isObject(items.definition) ? sampleOf(items) : undefined
  return inside === undefined ? undefined : [inside]
}

/** JSON pointer of a value in a sample → where in the configuration its field is defined. */
function collectPlaces(
  fields: readonly Field[],
  pointer: string,
  at: string,
  places: Map<string, string>,
): void {
  for (const field of fields) {
    const inner = pointer + toPointerPart(field.name)
    const place = at + toPointerPart(field.name)
    const { definition } = field
    if (definition.type !== 'hash' && definition.default !== undefined) places.set(inner, place)
    else if (definition.type === 'object')
      collectPlaces(field.properties, inner, `${place}/properties`, places)
    else if (field.items?.type === 'object') {
      collectPlaces(field.items.properties, `${inner}/0`, `${place}/items/properties`, places)
    }
  }
}
