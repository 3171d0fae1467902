import type { Fault } from '../errors.js'
import { toPointerPart } from './names.js'

/** True for text that every storage engine keeps as it is: no NUL and no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** True for a number that is stored and read back as it was written: finite, and exact where it is whole. */
export const isStorableNumber = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))

/** Finds what JSON can say and storage cannot keep. Recurses: the depth of `value` is bounded before. */
export function findUnstorable(value: unknown, path: string): readonly Fault[] {
  if (typeof value === 'string') return isStorableText(value) ? [] : [unstorableText(path)]
  if (typeof value === 'number') {
    if (isStorableNumber(value)) return []
    return [
      {
        path,
        code: 'number_out_of_range',
        message: 'must be finite, and between ±(2^53−1) where it is whole',
      },
    ]
  }
  if (Array.isArray(value))
    return value.flatMap((element, i) => findUnstorable(element, path + toPointerPart(i)))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, property]) => [
    ...(isStorableText(name) ? [] : [unstorableText(path)]),
    ...findUnstorable(property, path + toPointerPart(name)),
  ])
}

const unstorableText = (path: string): Fault => ({
  path,
  code: 'invalid_text',
  message: 'must not contain NUL or a lone surrogate',
})
