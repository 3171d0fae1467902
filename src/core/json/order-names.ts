import { compareText } from './compare-text.js'
import { isObject } from './own-properties.js'

/**
 * Returns the same JSON with the properties of every object sorted by name. Storage adapters keep properties
 * in different orders, so this order applies where no schema defines one.
 */
export function orderNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(orderNames)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort(compareText)
  return Object.fromEntries(names.map((name) => [name, orderNames(value[name])]))
}
