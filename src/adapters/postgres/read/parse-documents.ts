import type { Slice, Sliced } from '../../../core/slices.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'

/** Subtracts the steps of parsing from the slice, then parses a JSON text. Yields first if too few steps are left. */
export function* parseText(text: string, slice: Slice): Sliced<unknown> {
  const steps = text.length / CHARACTERS
  if (slice.left < steps) yield
  slice.left -= steps
  return JSON.parse(text) as unknown
}
