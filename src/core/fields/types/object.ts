import { type FieldType, OPAQUE } from '../field-type.js'
import { checkCase, checkStoredNames, FIELD_NAMES, RESERVED_FIELD_NAMES } from '../names.js'
import { examples, filled, mapOf } from '../schema-parts.js'

/** An object that has its own fields. */
export const objectType: FieldType<'object'> = {
  ...OPAQUE,
  description: 'An object with fields of its own.',
  valueType: 'object',
  attributes: {
    properties: mapOf(
      { $ref: '#/$defs/property' },
      {
        names: FIELD_NAMES,
        description: 'The fields inside the object, by name.',
        ...examples({ city: { type: 'string', required: true }, zip: { type: 'string' } }),
      },
    ),
    ...filled({ type: 'object', ...examples({ city: 'Ulm' }) }),
  },
  needed: ['properties'],
  settle(definition, check) {
    const place = check.report.at('properties')
    checkCase(Object.keys(definition.properties), RESERVED_FIELD_NAMES, place)
    checkStoredNames(definition.properties, RESERVED_FIELD_NAMES, place)
    const properties = Object.entries(definition.properties).map(([name, property]) => [
      name,
      check.settle(property, place.at(name)),
    ])
    return { ...definition, properties: Object.fromEntries(properties) }
  },
  inside: ({ properties }) => ({ properties }),
  // The properties are checked separately.
  bodySchema: () => ({ type: 'object' }),
  print: ({ properties }, { printProperties }) => printProperties(properties),
}
