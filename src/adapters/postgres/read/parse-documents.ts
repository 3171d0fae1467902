import type { Sliced } from '../../../core/slices.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'

/** Subtracts the steps of parsing from the slice, then parses a JSON text. Waits first if too few steps are left. */
export const parseText: Sliced<[text: string], unknown> = (text, slices) => {
  const steps = text.length / CHARACTERS
  const parse = (): unknown => {
    slices.left -= steps
    return JSON.parse(text)
  }
  return slices.left < steps ? slices.next().then(parse) : parse()
}
