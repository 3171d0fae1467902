import { isObject, readOwn } from './own-properties.js'

/** A name, escaped as a part of a JSON pointer (RFC 6901). */
export const toPointerPart = (name: string | number): string =>
  `/${typeof name === 'number' ? name : name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** The value at a JSON pointer; `undefined` where there is none. */
export function readPointer(value: unknown, pointer: string): unknown {
  let found = value
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    found = Array.isArray(found) ? found[Number(name)] : isObject(found) ? readOwn(found, name) : undefined
  }
  return found
}
