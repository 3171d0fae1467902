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
 * slash) that `areaOf` names instead; all of a file that has itself changed; a tenth where it is not known what has. At
 * least one is played, because a suite without tests fails.
 */
export function choose<T extends readonly [what: string, ...unknown[]]>(
  mutants: readonly T[],
  areaOf: (mutant: T) => string = ([, module]) => String(module),
): readonly T[] {
  if (!isQuick) return mutants
  const chosen = mutants.filter(chooser(areaOf))
  return chosen.length > 0 ? chosen : mutants.slice(0, 1)
}

/** Returns the test of whether a mutant is played in the quick tier. */
function chooser<T extends readonly [what: string, ...unknown[]]>(
  areaOf: (mutant: T) => string,
): (mutant: T) => boolean {
  if (changed === undefined) return ([what]) => isOfShare(what)
  const file = relative(process.cwd(), expect.getState().testPath ?? '').replaceAll('\\', '/')
  return (mutant) => changed.includes(file) || hasChanged(areaOf(mutant), changed)
}
