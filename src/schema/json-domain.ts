import type { Fault } from '../errors.js'
import { toPointerPart } from './names.js'

/** True for text that every storage engine keeps as it is: no NUL and no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** True for a number that is stored and read back as it was written: finite, and exact where it is whole. */
export const isStorableNumber = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))

/** Takes a fault; false when there is room for no more. */
export type AddFault = (fault: Fault) => boolean

/** Contract §4: levels of nesting, the body itself the first. */
export const MAX_DEPTH = 32

/**
 * Finds what storage cannot keep: text and numbers outside the domain, and whatever is no plain JSON, which a host may
 * bring in. Stops where `add` has no more room; returns whether there is.
 */
export function findUnstorable(value: unknown, path: string, add: AddFault, depth = 1): boolean {
  switch (typeof value) {
    case 'string':
      return isStorableText(value) || add(unstorableText(path))
    case 'number':
      return isStorableNumber(value) || add({ path, ...OUT_OF_RANGE })
    case 'boolean':
      return true
    case 'object':
      break
    default:
      return add({ path, ...NO_JSON })
  }
  if (value === null) return true
  if (depth > MAX_DEPTH)
    return add({ path, code: 'too_deep', message: `is nested more than ${MAX_DEPTH} levels deep` })
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (!findUnstorable(value[i], path + toPointerPart(i), add, depth + 1)) return false
    }
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return add({ path, ...NO_JSON })
  for (const [name, property] of Object.entries(value)) {
    const at = path + toPointerPart(name)
    if (
      name === '__proto__' &&
      !add({ path: at, code: 'forbidden_name', message: 'is no name that can be used' })
    )
      return false
    if (!isStorableText(name) && !add(unstorableText(path))) return false
    if (!findUnstorable(property, at, add, depth + 1)) return false
  }
  return true
}

const OUT_OF_RANGE = {
  code: 'number_out_of_range',
  message: 'must be finite, and between ±(2^53−1) where it is whole',
} as const

const NO_JSON = { code: 'not_json', message: 'must be plain JSON' } as const

const unstorableText = (path: string): Fault => ({
  path,
  code: 'invalid_text',
  message: 'must not contain NUL or a lone surrogate',
})
