import type { Collection } from '../../config/plan.js'
import type { Filter } from '../../filter/filter.js'
import { ALL_PROPERTIES, EVERYONE, type Rule } from '../../permissions/grants.js'
import { ANY_WAY } from '../../query/claims/demands.js'
import { ANYWHERE } from '../../query/where.js'
import type { JsonObject } from '../../types.js'
import { whereHolds } from './model/conditions.js'
import { STORED } from './model/deciding.js'
import { createUniverses } from './model/universe.js'
import { type Budget, Undecided } from './solver/budget.js'
import { findModel } from './solver/find-model.js'
import { createLogic } from './solver/logic.js'
import { writeDocument } from './write-witness.js'

/** The most decisions for one document. */
const MAX_DECISIONS = 20_000

/** A document that a filter matches and its collection accepts; `undefined` if none is found. */
export function findDocument(collection: Collection, filter: Filter): JsonObject | undefined {
  const sides = { before: collection, after: collection }
  const rule: Rule = {
    subject: EVERYONE,
    properties: ALL_PROPERTIES,
    where: { kind: 'fixed', filter, ways: ANY_WAY },
    check: ANYWHERE,
    set: new Map(),
    acceptsRole: false,
    claims: [],
  }
  const universeOf = createUniverses(sides, [rule], { fields: null, claims: new Map() })
  const { fresh: variables } = universeOf({ isSignedIn: false, operation: 'read' })
  const budget: Budget = { left: MAX_DECISIONS }
  try {
    const logic = createLogic(variables, budget)
    const place = { logic, variables, budget, isBestMissing: () => false }
    const model = findModel(whereHolds(logic, rule.where, STORED), place)
    return model && writeDocument(sides, { variables, model, isFresh: true })
  } catch (thrown) {
    if (thrown instanceof Undecided) return undefined
    throw thrown
  }
}
