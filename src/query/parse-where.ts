import { and, everything, type Filter } from '../filter/filter.js'
import { isObject, type JsonObject } from '../filter/read-path.js'
import type { Field } from '../schema/field.js'
import { suggest, toPointerPart } from '../schema/names.js'
import { buildCondition, ConditionFault, isOperator, OPTIONS, unknownOperator } from './condition.js'

/** What is wrong with a `where`, and at which place in it. */
export interface WhereFault {
  readonly path: string
  readonly message: string
}

/** Words of the permission language that this release does not know yet. */
const NOT_YET = ['$or', '$and', '$now'] as const

/** Parses a filter in the words of the query language as JSON (contract §5), adding what is wrong to `faults`. */
export function parseWhere(
  where: JsonObject,
  paths: ReadonlyMap<string, Field>,
  at: string,
  faults: WhereFault[],
): Filter {
  const filters = Object.entries(where).map(([path, condition]) => {
    const place = at + toPointerPart(path)
    if ((NOT_YET as readonly string[]).includes(path)) {
      faults.push({ path: place, message: `${path} is not available in this release` })
      return everything
    }
    const field = paths.get(path)
    if (field) return parseField(field, condition, place, faults)
    faults.push({
      path: place,
      message: `there is no such field to compare${suggest(path, [...paths.keys()])}`,
    })
    return everything
  })
  return and(filters)
}

function parseField(field: Field, condition: unknown, at: string, faults: WhereFault[]): Filter {
  if (!isObject(condition)) return attempt(at, faults, () => build(field, '$eq', condition, false))
  const options = condition[OPTIONS]
  if (options !== undefined && (options !== 'i' || condition.$regex === undefined)) {
    faults.push({ path: at + toPointerPart(OPTIONS), message: 'must be "i", beside a $regex' })
  }
  const operators = Object.entries(condition).filter(([operator]) => operator !== OPTIONS)
  if (operators.length === 0) faults.push({ path: at, message: 'names no operator' })
  const filters = operators.map(([operator, operand]) =>
    attempt(at + toPointerPart(operator), faults, () => build(field, operator, operand, options === 'i')),
  )
  return and(filters)
}

function build(field: Field, operator: string, operand: unknown, ignoreCase: boolean): Filter {
  if (!isOperator(operator)) throw unknownOperator(operator)
  for (const value of [operand].flat()) {
    const [word] = typeof value === 'string' ? (/^\$(?:user|now)\b/.exec(value) ?? []) : []
    if (word && operator !== '$regex')
      throw new ConditionFault('not_yet', `${word} is not available in this release`)
  }
  return buildCondition(field, operator, operand, ignoreCase)
}

function attempt(path: string, faults: WhereFault[], compile: () => Filter): Filter {
  try {
    return compile()
  } catch (thrown) {
    if (!(thrown instanceof ConditionFault)) throw thrown
    faults.push({ path, message: thrown.message })
    return everything
  }
}
