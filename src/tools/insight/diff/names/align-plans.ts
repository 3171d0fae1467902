import { type Fills, readFills } from '../../../../core/config/options/fills.js'
import type { ServicePlan } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import type { JsonObject } from '../../../../core/types.js'
import { compileAmong } from '../../compile.js'
import type { InsightOptions } from '../../options.js'
import type { Difference, Plans } from '../types.js'
import { type Matches, matchNames } from './match-names.js'
import { createRenaming, renameConfig } from './rename-config.js'
import { restoreNames } from './restore-names.js'

/** Two configurations in which what is stored under one name has one name: that of `after`. */
export interface AlignedPlans {
  readonly plans: Plans
  /** The configurations under common names. */
  readonly written: { readonly before: JsonObject; readonly after: JsonObject }
  /** Returns a difference between these plans, with the names of the two configurations. */
  readonly restore: (difference: Difference) => Difference
}

/**
 * Gives two configurations common names, so that they are compared by stored name (CONTRACT.md §8, "Diff"). Returns
 * `undefined` if neither says a stored name.
 */
export function alignPlans(given: Plans, options: InsightOptions): AlignedPlans | undefined {
  const { before, after, authenticate } = given
  if (![before, after].some(saysStoredNames)) return undefined
  const matches = matchNames(before, after)
  const renaming = createRenaming(before, matches, authenticate)
  const written = {
    before: renameConfig(before.config, renaming),
    after: renameConfig(after.config, undefined),
  }
  const fills = renameFills(readFills(options.hooks), matches)
  const plans: Plans = {
    before: compileAmong(written.before, options, fills),
    after: compileAmong(written.after, options, fills),
    authenticate,
  }
  for (const { name, common, hidden, freeName } of findReserved(given, matches))
    for (const [own, aligned] of [
      [before.collections.get(name), plans.before],
      [after.collections.get(common), plans.after],
    ] as const) {
      const erased = (own?.erase ?? []).map(freeName)
      for (const one of [...hidden, ...erased]) aligned.collections.get(common)?.reserved.add(one)
    }
  const names = { ...renaming, after, isHosted: authenticate }
  return { plans, written, restore: (difference) => restoreNames(difference, names) }
}

/** The collections of either configuration, each with the names of its free properties. */
const findReserved = ({ after }: Plans, matches: Matches) => {
  const matched = Array.from(matches, ([name, match]) => ({ name, ...match }))
  const commons = new Set(matched.map(({ common }) => common))
  const added = [...after.collections.keys()].filter((name) => !commons.has(name))
  return [
    ...matched,
    ...added.map((name) => ({ name, common: name, hidden: [], freeName: (one: string) => one })),
  ]
}

const saysStoredNames = ({ collections }: ServicePlan): boolean =>
  [...collections.values()].some((one) => one.isStoredExplicitly || one.fields.some(saysStoredName))

const saysStoredName = ({ definition, items, properties }: Field): boolean =>
  definition.stored !== undefined || [...properties, ...(items ? [items] : [])].some(saysStoredName)

/** Hooks have the names of one of the two configurations. */
function renameFills(fills: Fills, matches: Matches): Fills {
  const renamed = new Map<string, readonly string[]>()
  for (const [name, names] of fills) {
    const { common = name, fields } = matches.get(name) ?? {}
    const own = names.map((field) => fields?.get(field)?.common ?? field)
    renamed.set(common, [...(renamed.get(common) ?? []), ...own])
  }
  return renamed
}
