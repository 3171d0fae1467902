import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { compileFilter, type Predicate } from '../../../filter/matches.js'
import { toPointerPart } from '../../../json/pointer.js'
import { OWNER } from '../../../permissions/grants.js'
import type { Demand } from '../../../query/claims/demands.js'
import { buildCondition } from '../../../query/condition.js'
import { isOperator } from '../../../query/operators.js'
import { readFields, readHash } from '../../../service/write/stored-document.js'
import type { StoredDocument } from '../../../storage.js'
import type { JsonObject } from '../../../types.js'
import { variablesIn } from '../satisfy.js'
import type { CheckScope, LocatedRule } from '../scope.js'

/** Finds out how a configuration treats a stored document. */
export interface DocumentJudge {
  isInvalid(document: StoredDocument): boolean
  isCut(document: StoredDocument): boolean
  isUnreadable(document: StoredDocument): boolean
}

const withoutNames = (fields: JsonObject, names: ReadonlySet<string>): JsonObject =>
  names.size === 0 ? fields : Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))

const UNDECLARED = 'unknown_property'

/** Creates the judge of a collection's documents. */
export function createJudge(scope: CheckScope, collection: Collection): DocumentJudge {
  const { hashes, validate } = collection
  const names = new Set(hashes.map(({ name }) => name))
  const places = new Map(hashes.map(({ name }) => [toPointerPart(name), name]))
  // Text in a hash field is not an error here: hashes are stored apart from the fields.
  const find = (document: StoredDocument, isRelevant: (fault: Fault) => boolean): boolean =>
    validate(withoutNames(readFields(document), names), { limit: 1, isRelevant }).length > 0
  const readers = scope.rules
    .filter((placed) => placed.collection === collection && placed.operation === 'read')
    .map(compileReader)
  return {
    isInvalid: (document) =>
      find(document, ({ path, code }) => {
        const secret = places.get(path)
        const isKept = code === 'required' && secret !== undefined && readHash(document, secret) !== undefined
        return code !== UNDECLARED && !isKept
      }),
    isCut: (document) => find(document, ({ code }) => code === UNDECLARED),
    isUnreadable: (document) => readers.length > 0 && !readers.some((mayRead) => mayRead(document)),
  }
}

/** Whether some caller, with any values, may read a document by a rule. */
function compileReader({ rule, subject, collection }: LocatedRule): Predicate {
  const { where } = rule
  const isMet: Predicate =
    where.kind === 'fixed' ? compileFilter(where.filter) : compileWays(where.ways, collection)
  return subject === OWNER ? (document) => typeof document.createdBy === 'string' && isMet(document) : isMet
}

function compileWays(ways: readonly (readonly Demand[])[], collection: Collection): Predicate {
  const compiled = ways.map((way) => way.map((demand) => compileDemand(demand, collection)))
  return (document) => compiled.some((way) => areAllMet(way, document))
}

const areAllMet = (way: readonly Predicate[], document: Parameters<Predicate>[0]): boolean =>
  way.every((isMet) => isMet(document))

const ANY: Predicate = () => true

function compileDemand(demand: Demand, { paths }: Collection): Predicate {
  const { operator, operand, path } = demand
  const field = paths.get(path)
  if (!field?.ref || !isOperator(operator)) return ANY
  // The flags of a pattern are a separate operator beside it.
  if (operator === '$regex')
    return compileFilter(buildCondition(field, operator, operand, { ignoreCase: true }))
  if (variablesIn(demand).length === 0) return compileFilter(buildCondition(field, operator, operand))
  // A field that is compared with the caller must exist.
  return operator === '$ne' || operator === '$nin' || (Array.isArray(operand) && operand.includes(null))
    ? ANY
    : compileFilter({ kind: 'present', field: field.ref })
}
