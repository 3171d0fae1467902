import type { Collection } from '../../config/plan.js'
import { matches } from '../../filter/matches.js'
import { compilePath, isObject } from '../../json/own-properties.js'
import { createReport } from '../../json/report.js'
import type { BoundCaller } from '../../permissions/caller.js'
import { isOperator, OPTIONS } from '../../query/operators.js'
import { type Binding, bindValue, findVariables } from '../../query/variable.js'
import { bindWhere, parseWhere, type WhereScope } from '../../query/where.js'
import type { JsonObject, OperatorName, WhereConfig } from '../../types.js'
import type { JudgedComparison, JudgedCondition } from './explanation.js'

/** A document, and the caller for whom it is evaluated. */
export interface ConditionSubject {
  readonly collection: Collection
  readonly claims: WhereScope['claims']
  readonly asking: BoundCaller
  readonly document: JsonObject
}

/**
 * Evaluates a condition of the configuration on a document, part by part: the service parses, binds and evaluates each
 * comparison in the same way.
 */
export function judgeCondition(
  where: WhereConfig,
  pointer: string,
  judging: ConditionSubject,
): JudgedCondition {
  const parts = Object.entries(where).map(([name, asked]) => judgeEntry(name, asked, pointer, judging))
  return all(parts, pointer)
}

function judgeEntry(name: string, asked: unknown, outer: string, judging: ConditionSubject): JudgedCondition {
  const pointer = `${outer}/${name}`
  if ((name === '$or' || name === '$and') && Array.isArray(asked)) {
    const parts = asked.map((group, i) => judgeCondition(group, `${pointer}/${i}`, judging))
    return name === '$and'
      ? all(parts, pointer)
      : { kind: 'any', pointer, holds: parts.some(({ holds }) => holds), parts }
  }
  if (!isObject(asked))
    return judgeComparison({ field: name, operator: '$eq', operand: asked }, pointer, judging)
  const parts = Object.entries(asked).flatMap(([operator, operand]): JudgedCondition[] =>
    isOperator(operator)
      ? [
          judgeComparison(
            { field: name, operator, operand, options: asked[OPTIONS] },
            `${pointer}/${operator}`,
            judging,
          ),
        ]
      : [],
  )
  return all(parts, pointer)
}

/** A single part needs no group. */
function all(parts: readonly JudgedCondition[], pointer: string): JudgedCondition {
  const [only] = parts
  if (only && parts.length === 1) return only
  return { kind: 'all', pointer, holds: parts.every(({ holds }) => holds), parts }
}

interface Comparison {
  readonly field: string
  readonly operator: OperatorName
  readonly operand: unknown
  readonly options?: unknown
}

/** Evaluates one comparison on one document. */
export function judgeComparison(
  { field, operator, operand, options }: Comparison,
  pointer: string,
  { collection, claims, asking, document }: ConditionSubject,
): JudgedComparison {
  const written = {
    [field]: { [operator]: operand, ...(options === undefined ? {} : { [OPTIONS]: options }) },
  }
  let isLacking = false
  const filter = bindWhere(parseWhere(written, scopeOf(collection, claims), UNHEARD), asking.binding, () => {
    isLacking = true
  })
  const found = compilePath(field)(document)
  const bound = operator === '$regex' ? undefined : bindOperand(operand, operator, asking.binding)
  return {
    kind: 'comparison',
    pointer,
    holds: matches(filter, document),
    field,
    operator,
    operand,
    ...(bound ? { bound: bound.value } : {}),
    isLacking,
    ...(found === undefined ? {} : { found }),
  }
}

const bindOperand = (
  operand: unknown,
  operator: OperatorName,
  binding: Binding,
): { readonly value: unknown } | undefined =>
  findVariables(operand).length === 0
    ? undefined
    : bindValue(operand, binding, operator === '$in' ? 'some' : 'all')

/** The configuration is compiled, so it has no errors to report. */
const UNHEARD = createReport<[message: string]>(() => true)

const scopeOf = ({ paths, parsePattern }: Collection, claims: ConditionSubject['claims']): WhereScope => ({
  paths,
  parsePattern,
  claims,
  judgeVariable: () => undefined,
  isUnsure: () => false,
})

/** The fields that a condition names, in order, without duplicates. */
export function fieldsIn(where: WhereConfig): readonly string[] {
  const names = Object.entries(where).flatMap(([name, asked]): readonly string[] =>
    (name === '$or' || name === '$and') && Array.isArray(asked) ? asked.flatMap(fieldsIn) : [name],
  )
  return [...new Set(names)]
}
