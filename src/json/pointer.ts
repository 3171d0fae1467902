import { isObject, readOwn } from './own-properties.js'

/** RFC 6901: a name as a part of a JSON pointer. */
export const toPointerPart = (name: string | number): string =>
  `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** The value at a JSON pointer. */
export function readPointer(value: unknown, pointer: string): unknown {
  let found = value
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    found = Array.isArray(found) ? found[Number(name)] : isObject(found) ? readOwn(found, name) : undefined
  }
  return found
}
