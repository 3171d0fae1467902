import { type FieldType, OPAQUE } from '../field-type.js'
import { examples, filled } from '../schema-parts.js'

/** Any JSON value. */
export const jsonType: FieldType<'json'> = {
  ...OPAQUE,
  description: 'Any JSON; queries can only test whether it is present.',
  valueType: 'json',
  attributes: filled(examples({ theme: 'dark' }, [], null)),
  bodySchema: () => ({}),
  print: () => 'unknown',
}
