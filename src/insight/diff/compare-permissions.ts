import { judgeHooks } from '../../config/options/check-options.js'
import { judgeFills, readFills } from '../../config/options/fills.js'
import { ConfigError } from '../../errors.js'
import { freezeDeep } from '../../json/freeze-deep.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { requireOptions } from '../../options.js'
import { EVERYONE } from '../../permissions/grants.js'
import { USERS } from '../../schema/names.js'
import { compileAmong } from '../compile.js'
import { INSIGHT_OPTIONS, type InsightOptions } from '../options.js'
import { compareCollection, type Unfinished } from './compare-collection.js'
import { compareStructure, type WrittenConfig } from './compare-structure.js'
import { completeWitness } from './complete-witness.js'
import { followReading, withoutPermissions } from './follow.js'
import { keyOfSides } from './model/unite.js'
import type { Sides } from './model/universe.js'
import type { Difference, PermissionDifference, Plans, UndecidedDifference } from './types.js'

/**
 * Compares the permissions of two configurations (CONTRACT.md §8, "Diff"): every difference that one read, create,
 * PATCH, PUT or DELETE of one document can show, each with the smallest set of roles that sees it and a counterexample
 * that can be run. Schemas, limits and `auth` are compared as structures. Throws `ConfigError` with the errors of
 * either.
 *
 * @example
 * ```ts
 * const differences = comparePermissions(before, after)
 * const isSafe = differences.every(({ kind }) => kind === 'narrowing')
 * ```
 */
export function comparePermissions(
  before: unknown,
  after: unknown,
  options: InsightOptions = {},
): readonly Difference[] {
  requireOptions(options, INSIGHT_OPTIONS)
  const plans: Plans = {
    before: compileAmong(before, options),
    after: compileAmong(after, options),
    authenticate: options.authenticate ?? false,
  }
  requireHooks(plans, options)
  const structure = compareStructure(plans, { before: readWritten(before), after: readWritten(after) })
  const names = new Set([...plans.before.collections.keys(), ...plans.after.collections.keys()])
  const alike = new Map<string, ReturnType<typeof compareCollection>>()
  const permissions = [...names].flatMap((name) => {
    const sides = sidesOf(plans, name)
    if (!sides) return []
    const areAccounts = [plans.before, plans.after].map(({ auth }) => auth?.users.name === name)
    const key = `${areAccounts} ${keyOfSides(sides)}`
    const found = alike.get(key) ?? compareCollection(plans, sides)
    alike.set(key, found)
    const isRead = found.some(({ operation }) => operation === 'read')
    const follows = isRead ? followReading(plans.after, name) : []
    return found.map((one) => finish(plans, one, name, follows))
  })
  return freezeDeep([...permissions, ...structure])
}

/** Throws `ConfigError` for hooks of collections that neither configuration has. */
function requireHooks({ before, after }: Plans, options: InsightOptions): void {
  const collections = new Map(
    [before, after]
      .flatMap((plan) => [...plan.collections.keys()])
      .map((name) => [
        name,
        { fields: [after, before].flatMap((plan) => plan.collections.get(name)?.fields ?? []) },
      ]),
  )
  const faults = [
    ...judgeHooks(options, { collections: Object.fromEntries(collections) }),
    ...judgeFills(readFills(options.hooks), collections, []),
  ]
  if (faults.length > 0) throw new ConfigError(faults)
}

/** A collection in both; if only one has it, the other grants nothing there. */
function sidesOf({ before, after }: Plans, name: string): Sides | undefined {
  const [was, is] = [before.collections.get(name), after.collections.get(name)]
  if (was && is) return { before: was, after: is }
  if (was) return { before: was, after: withoutPermissions(was) }
  return is && { before: withoutPermissions(is), after: is }
}

/** A difference of a collection, or of another with the same permissions, with the consequences of reading it. */
function finish(
  plans: Plans,
  one: Unfinished | UndecidedDifference,
  name: string,
  follows: readonly string[],
): PermissionDifference | UndecidedDifference {
  if (!('witness' in one)) return { ...one, collection: name }
  const { held, ...found } = one
  const { documents, request } = one.witness
  const witness = {
    ...one.witness,
    documents: Object.fromEntries(Object.values(documents).map((all) => [name, all])),
    request: { ...request, path: `/${name}${request.path.slice(one.collection.length + 1)}` },
  }
  return {
    ...found,
    collection: name,
    witness: completeWitness(witness, held, plans),
    follows: one.operation === 'read' ? follows : [],
  }
}

/** The parts that are compared as written; both configurations are valid here. */
function readWritten(config: unknown): WrittenConfig {
  const claims = find(config, ['auth', 'claims'])
  const everyone = find(config, ['collections', USERS, 'permissions', EVERYONE])
  return {
    claims: isObject(claims)
      ? Object.fromEntries(Object.entries(claims).filter(([name]) => name !== '$comment'))
      : {},
    registration: isObject(everyone) ? readOwn(everyone, 'create') : everyone,
  }
}

const find = (config: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? readOwn(value, name) : undefined), config)
