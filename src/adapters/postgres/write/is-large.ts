import { bounds } from '../../../core/bounds.js'
import type { WriteStep } from '../../../core/storage.js'

/** How much a step counts in addition to its document. */
const STEP = 64

/**
 * Whether a write may keep the server busy for long, because its documents are large or many. Stops counting at the
 * limit.
 */
export function isLarge(steps: readonly WriteStep[]): boolean {
  let left = bounds.longWrite
  const isTooMuch = (value: unknown): boolean => {
    left -= 1 + (typeof value === 'string' ? value.length : 0)
    if (left < 0 || typeof value !== 'object' || value === null) return left < 0
    return Object.values(value).some(isTooMuch)
  }
  return steps.some((step) => {
    left -= STEP
    return isTooMuch('insert' in step ? step.insert : 'replace' in step ? step.replace : null)
  })
}
