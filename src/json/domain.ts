import type { Fault } from '../errors.js'
import { runAtOnce, type Slice, type Sliced } from '../slices.js'
import { toPointerPart } from './pointer.js'

/** True for text that every storage engine keeps as it is: no NUL and no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** True for a number that is stored and read back as it was written: finite, and exact where it is whole. */
export const isStorableNumber = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))

/** Takes a fault; false when there is room for no more. */
export type AddFault = (fault: Fault) => boolean

/** CONTRACT.md §4: levels of nesting, the body itself the first. */
export const MAX_DEPTH = 32

/**
 * Finds what storage cannot keep: text and numbers outside the domain, and whatever is no plain JSON, which a host may
 * bring in. Stops where `add` has no more room; returns whether there is.
 */
export const findUnstorable = (value: unknown, path: string, add: AddFault): boolean =>
  runAtOnce((slice) => searchUnstorable(value, path, add, slice))

/** The same in slices. */
export function* searchUnstorable(
  value: unknown,
  path: string,
  add: AddFault,
  slice: Slice,
  depth = 1,
): Sliced<boolean> {
  if (typeof value !== 'object' || value === null) return judgeScalar(value, () => path, add)
  if (depth > MAX_DEPTH)
    return add({ path, code: 'too_deep', message: `is nested more than ${MAX_DEPTH} levels deep` })
  if (!Array.isArray(value)) {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return add({ path, ...NO_JSON })
  }
  const isArray = Array.isArray(value)
  const names = isArray ? value : Object.keys(value)
  for (let i = 0; i < names.length; i++) {
    const name: string | number = isArray ? i : names[i]
    const inner: unknown = (value as { readonly [name: string | number]: unknown })[name]
    slice.left -= stepsToRead(inner)
    if (slice.left <= 0) yield
    if (!isArray && !judgeName(String(name), path, add)) return false
    // A path is only made where it is needed: most bodies have no fault.
    const at = (): string => path + toPointerPart(name)
    const isGood =
      typeof inner === 'object' && inner !== null
        ? yield* searchUnstorable(inner, at(), add, slice, depth + 1)
        : judgeScalar(inner, at, add)
    if (!isGood) return false
  }
  return true
}

/** The steps that it takes to go through a value, without what lies in it. */
export const stepsToRead = (value: unknown): number => (typeof value === 'string' ? 3 + value.length / 64 : 3)

function judgeScalar(value: unknown, at: () => string, add: AddFault): boolean {
  switch (typeof value) {
    case 'string':
      return isStorableText(value) || add(unstorableText(at()))
    case 'number':
      return isStorableNumber(value) || add({ path: at(), ...OUT_OF_RANGE })
    case 'boolean':
      return true
    default:
      return value === null || add({ path: at(), ...NO_JSON })
  }
}

function judgeName(name: string, path: string, add: AddFault): boolean {
  if (
    name === '__proto__' &&
    !add({ path: path + toPointerPart(name), code: 'forbidden_name', message: 'is no name that can be used' })
  )
    return false
  return isStorableText(name) || add(unstorableText(path))
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
