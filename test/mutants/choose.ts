import { relative } from 'node:path'
import { expect } from 'vitest'
import { isQuick } from '../support/tier.js'
import { hasChanged } from '../tiers.js'

/** What has changed, as `test/vitest.config.ts` tells; `undefined` where that is not known. */
const changed = process.env.CHANGED?.split('\n')

/** One in so many, the same in every run. */
const SHARE = 10

const isOfShare = (what: string): boolean =>
  [...what].reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % 65_521, 0) % SHARE === 0

/**
 * The mutants that are played. `npm test` plays those of the changed area: of their modules, or of folders (which end in a
 * slash) that `areaOf` names instead; all of a file that has itself changed; a tenth where it is not known what has.
 */
export function choose<T extends readonly [what: string, ...unknown[]]>(
  mutants: readonly T[],
  areaOf: (mutant: T) => string = ([, module]) => String(module),
): readonly T[] {
  if (!isQuick) return mutants
  if (changed === undefined) return mutants.filter(([what]) => isOfShare(what))
  const file = relative(process.cwd(), expect.getState().testPath ?? '').replaceAll('\\', '/')
  return changed.includes(file) ? mutants : mutants.filter((one) => hasChanged(areaOf(one), changed))
}
