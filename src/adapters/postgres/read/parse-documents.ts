import type { Slices } from '../../../core/slices.js'
import type { MaybePromise } from '../../../core/storage.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'

/** Subtracts the steps of parsing from the slice, then parses a JSON text. Waits first if too few steps are left. */
export function parseText(text: string, slices: Slices): MaybePromise<unknown> {
  const steps = text.length / CHARACTERS
  const parse = (): unknown => {
    slices.left -= steps
    return JSON.parse(text)
  }
  return slices.left < steps ? slices.next().then(parse) : parse()
}
