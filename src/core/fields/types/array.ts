import type { ConfigReport } from '../../json/report.js'
import type { FieldDefinition } from '../../types.js'
import { type FieldType, OPAQUE } from '../field-type.js'
import { count, examples, filled, pickKeywords } from '../schema-parts.js'

/** A list of values of one type. */
export const arrayType: FieldType<'array'> = {
  ...OPAQUE,
  description: 'A list of values of one type.',
  valueType: 'array',
  attributes: {
    items: {
      $ref: '#/$defs/item',
      description: 'The definition of the elements.',
      ...examples({ type: 'string' }),
    },
    minItems: count('The array must have at least this number of elements.', 1),
    maxItems: count('The array may have at most this number of elements.', 20),
    ...filled({ type: 'array', ...examples([]) }),
  },
  needed: ['items'],
  bounds: ['minItems', 'maxItems'],
  settle(definition, check) {
    const place = check.report.at('items')
    refuseImmutable(definition.items, place)
    return { ...definition, items: check.settle(definition.items, place) }
  },
  inside: ({ items }) => ({ items }),
  bodySchema: ({ definition }) => pickKeywords(definition, ['type', 'minItems', 'maxItems']),
  print({ items }, { purpose, print }) {
    // A patch replaces an array as a whole.
    const type = print(items, purpose === 'update' ? 'create' : purpose)
    return /^readonly | \| /.test(type) ? `readonly (${type})[]` : `readonly ${type}[]`
  },
}

/**
 * Rejects immutable properties of elements. Elements have no names, so an update cannot tell which one it
 * changes.
 */
function refuseImmutable(definition: FieldDefinition, report: ConfigReport): void {
  if (definition.type !== 'object') return
  for (const [name, property] of Object.entries(definition.properties)) {
    const place = report.at('properties').at(name)
    if (property.immutable) place.at('immutable').fault('has no effect inside an array: remove it')
    refuseImmutable(property, place)
  }
}
