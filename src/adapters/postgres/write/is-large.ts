import type { WriteStep } from '../../../storage.js'

/** Characters, values and steps beyond which a write may be long. */
const MOST = 65_536

/** What one step counts beside its document. */
const STEP = 64

/** Whether a write may keep the server busy for long: it brings in large documents, or many. Looks at no more than it must. */
export function isLarge(steps: readonly WriteStep[]): boolean {
  let left = MOST
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
