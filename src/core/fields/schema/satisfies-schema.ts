import { compilePattern, type Matcher } from '../../filter/pattern/compile-pattern.js'
import { parsePattern } from '../../filter/pattern/parse-pattern.js'
import { isEqualJson } from '../../json/equality.js'
import type { JsonSchema } from '../../json/json-schema.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { TESTS } from './keywords.js'

/** The schema that contains a keyword, and a function that evaluates the schemas inside it. */
interface KeywordContext {
  readonly schema: JsonSchema
  readonly definitions: JsonSchema
  readonly holds: (schema: unknown, value: unknown) => boolean
}

/** Whether a value satisfies a keyword. `wanted` is the value of the keyword in the schema. */
type Demand = (wanted: never, value: never, place: KeywordContext) => boolean

type Demands = readonly (readonly [keyword: string, Demand])[]
type List = readonly unknown[]

const hasType = (type: string | readonly string[], value: unknown): boolean =>
  typeof type === 'string' ? TESTS.type(type)(value) : type.some((one) => hasType(one, value))

const matchers = new Map<string, Matcher>()

/** All compiled patterns are cached, because they are few and come only from our own schemas. */
function matchesPattern(source: string, text: string): boolean {
  const matcher = matchers.get(source) ?? compilePattern(parsePattern(source, { ignoreCase: false }))
  matchers.set(source, matcher)
  return matcher.test(text)
}

const isUnique = (list: List): boolean =>
  list.every((one, i) => !list.slice(0, i).some((other) => isEqualJson(one, other)))

/** Restricts keywords to values of one type. Values of other types satisfy them. */
const ofType = (type: string, demands: { readonly [keyword: string]: Demand }): Demands =>
  Object.entries(demands).map(([keyword, demand]) => [
    keyword,
    (wanted, value, place) => !hasType(type, value) || demand(wanted, value, place),
  ])

/** Keywords that are always satisfied: annotations, and keywords that are evaluated with another keyword. */
const SILENT = ['title', 'description', 'examples', 'default', '$defs', 'then', 'else', 'oneOf']

const DEMANDS: ReadonlyMap<string, Demand> = new Map([
  ...SILENT.map((keyword): Demands[number] => [keyword, () => true]),
  ...Object.entries<Demand>({
    type: hasType,
    const: (wanted: unknown, value: unknown) => isEqualJson(wanted, value),
    enum: (values: List, value: unknown) => values.some((one) => isEqualJson(one, value)),
    not: (schema: unknown, value: unknown, { holds }) => !holds(schema, value),
    anyOf: (schemas: List, value: unknown, { holds }) => schemas.some((one) => holds(one, value)),
    if: (condition: unknown, value: unknown, { schema, holds }) =>
      holds((holds(condition, value) ? schema.then : schema.else) ?? true, value),
    $ref: (ref: string, value: unknown, { definitions, holds }) =>
      holds(readOwn(definitions, ref.replace('#/$defs/', '')), value),
  }),
  ...ofType('number', {
    minimum: (limit: number, value: number) => value >= limit,
    maximum: (limit: number, value: number) => value <= limit,
    exclusiveMinimum: (limit: number, value: number) => value > limit,
  }),
  ...ofType('string', {
    minLength: (limit: number, text: string) => [...text].length >= limit,
    maxLength: (limit: number, text: string) => [...text].length <= limit,
    pattern: matchesPattern,
  }),
  ...ofType('array', {
    minItems: (limit: number, list: List) => list.length >= limit,
    maxItems: (limit: number, list: List) => list.length <= limit,
    uniqueItems: (wanted: boolean, list: List) => !wanted || isUnique(list),
    // The spread turns holes into `undefined`, because `every` skips holes.
    items: (schema: unknown, list: List, { holds }) => [...list].every((one) => holds(schema, one)),
  }),
  ...ofType('object', {
    minProperties: (limit: number, object: object) => Object.keys(object).length >= limit,
    required: (names: readonly string[], object: object) =>
      names.every((name) => Object.hasOwn(object, name)),
    propertyNames: (schema: unknown, object: object, { holds }) =>
      Object.keys(object).every((name) => holds(schema, name)),
    properties: (known: JsonSchema, object: object, { holds }) =>
      Object.entries(object).every(([name, one]) => !Object.hasOwn(known, name) || holds(known[name], one)),
    additionalProperties: (rest: unknown, object: object, { schema: { properties }, holds }) =>
      Object.entries(object).every(
        ([name, one]) => (isObject(properties) && Object.hasOwn(properties, name)) || holds(rest, one),
      ),
    discriminator: ({ propertyName }: { propertyName: string }, object: JsonSchema, { schema, holds }) => {
      // Each alternative has a different constant for this property, so at most one alternative matches.
      const named = Object.hasOwn(object, propertyName)
      return named && (schema.oneOf as List).some((one) => holds(one, object))
    },
  }),
])

/**
 * Whether a value satisfies one of our schemas. The schema is not compiled, because most processes check only
 * one value, and compiling takes a hundred times as long as this check. Only a compiled schema reports
 * violations. Throws for an unsupported keyword.
 */
export function satisfiesSchema(root: JsonSchema, value: unknown): boolean {
  const definitions = isObject(root.$defs) ? root.$defs : {}
  const holds: KeywordContext['holds'] = (schema, one) => {
    if (!isObject(schema)) return schema === true
    return Object.entries(schema).every(([keyword, wanted]) => {
      const demand = DEMANDS.get(keyword)
      if (!demand) throw new Error(`a schema has the keyword ${keyword}, which is not known`)
      return demand(wanted as never, one as never, { schema, definitions, holds })
    })
  }
  return holds(root, value)
}
