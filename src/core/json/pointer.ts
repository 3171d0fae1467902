import { isObject, readOwn } from './own-properties.js'

/** Escapes a name for a JSON pointer (RFC 6901), and puts a slash before it. */
export const toPointerPart = (name: string | number): string =>
  typeof name === 'number' || !SPECIAL.test(name)
    ? `/${name}`
    : `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

const SPECIAL = /[~/]/

/** Returns the names in a JSON pointer, without escapes. */
export const toPointerParts = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Returns the value at a JSON pointer; `undefined` if there is none. */
export function readPointer(value: unknown, pointer: string): unknown {
  let found = value
  for (const name of toPointerParts(pointer))
    found = Array.isArray(found) ? found[Number(name)] : isObject(found) ? readOwn(found, name) : undefined
  return found
}
