import { CLAIMS_OVER, claimWorldsOf, disguiseWithClaims, MARKS_OVER, markedWorldsOf } from './claim-worlds.js'
import { claimingWritesOf } from './claiming-writes.js'
import type { Source } from './laws.js'
import type { WriteSource } from './write-laws.js'

type Json = { readonly [name: string]: unknown }

/** Whether a grant has several rules for one operation, and a rule goes by a claim that uses a claim. */
export const isRich = (permissions: Json, claim: string): boolean =>
  JSON.stringify(permissions).includes(`"$user.${claim}"`) &&
  Object.values(permissions).some((grant) =>
    Object.values(Object(grant)).some((rules) => Array.isArray(rules) && rules.length > 1 && isRules(rules)),
  )

const isRules = (rules: readonly unknown[]): boolean => rules.every((rule) => typeof rule === 'object')

/** Worlds in each of which subjects have several rules, and rules go by claims over claims: what is read of them. */
export const RICH: Source = {
  worlds: claimWorldsOf(CLAIMS_OVER).filter(({ collection }) => isRich(collection.permissions, 'teams')),
  disguise: disguiseWithClaims,
}

const ofWrites = claimingWritesOf(CLAIMS_OVER)

/** What is written there. */
export const RICH_WRITES: WriteSource = {
  ...ofWrites,
  worlds: ofWrites.worlds.filter(({ config }) => isRich(config.collections.things.permissions, 'teams')),
}

/** What batches write, which changes these claims. */
export const RICH_BATCHES = markedWorldsOf(MARKS_OVER).filter(({ config }) =>
  isRich(config.collections.things.permissions, 'marks'),
)
