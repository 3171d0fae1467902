import type { Collection } from '../../core/config/plan.js'
import type { Field } from '../../core/fields/field-type.js'
import { isSystemField } from '../../core/fields/schema/names.js'
import type { Scalar, ValueType } from '../../core/filter/filter.js'
import type { JsonSchema } from '../../core/json/json-schema.js'
import { includesProperty } from '../../core/permissions/grants.js'
import { MAX_LEVELS } from '../../core/query/compile-expand.js'
import { elementOf, isOperator, OPERATOR_NAMES, OPERATORS, OPTIONS } from '../../core/query/condition.js'
import { type ParameterName, SUMMARIES, type Summary } from '../../core/query/query-string.js'
import { describeBy, findGroupable, type Groupable, listOrders } from './group-parameters.js'
import { describeNumber, describeTime, orNull, TEXT } from './schemas/value-schema.js'
import type { DescriptionScope } from './scope.js'

/** Returns references to the query parameters of a route on a collection (CONTRACT.md §3). */
export const referToParameters = (
  scope: DescriptionScope,
  collection: Collection,
  names: readonly ParameterName[],
): readonly JsonSchema[] =>
  names.flatMap((name) => {
    const grouped = names.includes('by') ? OF_GROUPS[name] : undefined
    const describe = grouped ?? DESCRIPTIONS[name]
    const route = grouped ? 'groups' : undefined
    return scope.parametersOf(collection, route ? `${route}.${name}` : name, () =>
      describe(scope, collection).map((parameter) => refer(scope, collection, { route, ...parameter })),
    )
  })

const refer = (
  scope: DescriptionScope,
  collection: Collection,
  { route, ...parameter }: RouteParameter,
): JsonSchema =>
  scope.components.refer('parameters', keyOf(collection, { route, ...parameter }), () => ({
    ...parameter,
    in: 'query',
  }))

interface Parameter extends JsonSchema {
  readonly name: string
  readonly description: string
}

/** `route`: the route of the parameter, if its name means something else on other routes. */
type RouteParameter = Parameter & { readonly route: string | undefined }

/**
 * Returns the component name of a parameter, such as `articles.q.title.regex`, or `service.q.createdAt.gte` for a
 * parameter that all collections share. Component names may contain only letters, digits and `._-`. A parameter of
 * `_id` is named `service.q.gte`, without the path: code generators drop the `_`, so `_id` would collide with a field
 * `id`.
 */
function keyOf({ name: collection }: Collection, { name, route }: RouteParameter): string {
  // A summary by which groups are sorted could have the path of a field.
  const [parameter = '', path, ...others] = name.replace('sort[$', 'order[').match(/[\w.]+/g) ?? []
  const isOwn = path === undefined ? OWN.has(parameter) : !isSystemField(path)
  const named = [route ?? [], parameter, path ?? [], others].flat()
  const parts = named.flatMap((part) => part.split('.')).filter((part) => part !== '_id')
  return [isOwn ? collection : 'service', ...parts].join('.')
}

/** The parameters that have no path but differ between collections. */
const OWN: ReadonlySet<string> = new Set<ParameterName>(['project', 'expand', ...SUMMARIES])

type DescribeParameters = (scope: DescriptionScope, collection: Collection) => readonly Parameter[]

/** Describes a parameter whose value is written as JSON. */
const asJson = (name: string, schema: JsonSchema, description: string): Parameter => ({
  name,
  description,
  content: { 'application/json': { schema } },
})

/** Describes a parameter whose value is the same in JSON and as plain text, such as a number or a time. */
const asItIs = (name: string, schema: JsonSchema, description: string): Parameter => ({
  name,
  description,
  schema,
})

/** Describes a list as one parameter for each value. The list cannot be empty: then there would be no parameter. */
const asRepeated = (parameter: Parameter, schema: JsonSchema): Parameter => ({
  ...parameter,
  style: 'form',
  explode: true,
  schema: { type: 'array', ...schema, minItems: 1 },
})

/** Text that needs no quotes in a query. */
const PLAIN_TEXT: JsonSchema = { type: 'string', pattern: '^(?!["\\[{])[^\\x00]*$', not: { enum: ['null'] } }

/** Whether a value of a list needs no quotes in a query. */
const isPlain = (value: Scalar): boolean => typeof value !== 'string' || !/^(?:null$|["[{])/.test(value)

const WHOLE: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

const DESCRIPTIONS: { readonly [name in ParameterName]: DescribeParameters } = {
  q: (scope, collection) =>
    findReadable(scope, collection).flatMap((field) => describeConditions(scope, field)),
  sort: (scope, collection) =>
    findSortable(scope, collection).map(({ path }) => ({
      name: `sort[${path}]`,
      description:
        '1: ascending; -1: descending. If there are several sort parameters, the first one takes precedence.',
      schema: { type: 'integer', enum: [1, -1] },
    })),
  skip: () => [{ name: 'skip', description: 'The number of documents to skip.', schema: WHOLE }],
  after: () => [
    {
      name: 'after',
      description:
        'For a list, the `Next-Cursor` of the previous page, instead of `skip`. For a stream, the `id` of an event.',
      schema: { type: 'string' },
    },
  ],
  lastEventId: () => [
    {
      name: 'lastEventId',
      description: 'The `id` of the last event, for clients that cannot send `Last-Event-ID`.',
      schema: { type: 'string' },
    },
  ],
  limit: ({ service }) => {
    const { defaultLimit, maxLimit } = service.plan.limits
    const missing = defaultLimit ?? maxLimit
    return [
      {
        name: 'limit',
        description: `The maximum number of documents. Default: ${missing ?? 'all'}.`,
        schema: { ...WHOLE, maximum: maxLimit ?? Number.MAX_SAFE_INTEGER },
      },
    ]
  },
  total: () => [
    {
      name: 'total',
      description: 'Requests `X-Total-Count`, the number of all matching documents.',
      schema: { type: 'boolean', enum: [true] },
    },
  ],
  project: (scope, collection) => {
    const paths = findReadable(scope, collection).map(({ path }) => path)
    const example = paths.filter((path) => path !== '_id').slice(0, 2)
    return [
      {
        ...asRepeated(
          { name: 'project', description: 'Returns only these fields and `_id`. `[]` returns only `_id`.' },
          { items: nameOf(paths) },
        ),
        ...(example.length > 0 ? { example } : {}),
      },
    ]
  },
  expand: (scope, collection) => {
    const paths = findExpandable(scope, collection)
    return paths.length > 0
      ? [
          asRepeated(
            {
              name: 'expand',
              description: 'Replaces these references by their documents. `[]` replaces none.',
            },
            { items: nameOf(paths) },
          ),
        ]
      : []
  },
  by: (scope, collection) =>
    groupableIn(scope, collection).by.map((field) => ({
      name: `by[${field.path}]`,
      description:
        'One group for each value, for each interval of time in UTC, or for each interval between edges.',
      schema: describeBy(field),
    })),
  sum: (...given) => describeSummary('sum')(...given),
  avg: (...given) => describeSummary('avg')(...given),
  min: (...given) => describeSummary('min')(...given),
  max: (...given) => describeSummary('max')(...given),
}

const groupableIn = (scope: DescriptionScope, collection: Collection): Groupable =>
  findGroupable(findReadable(scope, collection))

const SORT: JsonSchema = { type: 'integer', enum: [1, -1] }

/** The parameters of an aggregate whose names mean something else on other routes. */
const OF_GROUPS: { readonly [name in ParameterName]?: DescribeParameters } = {
  sort(scope, collection) {
    const groupable = groupableIn(scope, collection)
    return [...groupable.by.map(({ path }) => path), ...listOrders(groupable)].map((name) => ({
      name: `sort[${name}]`,
      description: 'The order of groups, by what the query asks for. 1: ascending; -1: descending.',
      schema: SORT,
    }))
  },
  skip: () => [{ name: 'skip', description: 'The number of groups to skip.', schema: WHOLE }],
  limit: ({ service }) => [
    {
      name: 'limit',
      description: 'The maximum number of groups. Default: all.',
      schema: { ...WHOLE, maximum: service.plan.limits.maxLimit ?? Number.MAX_SAFE_INTEGER },
    },
  ],
  total: () => [
    {
      name: 'total',
      description: 'Requests `X-Total-Count`, the number of all groups.',
      schema: { type: 'boolean', enum: [true] },
    },
  ],
}

/** Describes the list of a summary; no parameter if no field has it. */
const describeSummary =
  (summary: Summary): DescribeParameters =>
  (scope, collection) => {
    const paths = groupableIn(scope, collection).measures[summary].map(({ path }) => path)
    const description = `For each group: ${MEANINGS_OF[summary]} of these fields.`
    const items = { items: nameOf(paths), uniqueItems: true, maxItems: 10 }
    return paths.length > 0 ? [asRepeated({ name: summary, description }, items)] : []
  }

const MEANINGS_OF: { readonly [summary in Summary]: string } = {
  sum: 'the exact sum',
  avg: 'the average',
  min: 'the minimum',
  max: 'the maximum',
}

const nameOf = (names: readonly string[]): JsonSchema => ({ type: 'string', enum: names })

const findReadable = (scope: DescriptionScope, collection: Collection): readonly Field[] => {
  const { find, paths } = scope.names(collection)
  return paths().flatMap((path) => find(path) ?? [])
}

/**
 * Returns the fields by which the reader may sort: scalar fields that every read rule of the reader shows. Without a
 * reader: scalar fields that at least one read rule shows.
 */
const findSortable = (scope: DescriptionScope, collection: Collection): readonly Field[] => {
  const { read } = scope.rights(collection)
  const isShownAlways = (path: string): boolean => {
    const [name = ''] = path.split('.')
    return name === '_id' || read.every(({ properties }) => includesProperty(properties, name))
  }
  return findReadable(scope, collection).filter(
    ({ fieldType, path }) => fieldType.isScalar && (scope.reader === undefined || isShownAlways(path)),
  )
}

/** The maximum number of paths in the description of `expand`. The number of paths multiplies with each level. */
const MAX_EXPANDABLE = 100

function findExpandable(scope: DescriptionScope, collection: Collection): readonly string[] {
  const names: string[] = []
  let level: readonly (readonly [at: string, collection: Collection])[] = [['', collection]]
  for (let depth = 1; depth <= MAX_LEVELS; depth++) {
    const found = level.flatMap(([at, here]) =>
      findReadable(scope, here).flatMap((field): [string, Collection][] => {
        const target = scope.findTarget(field)
        return target ? [[at + field.path, target]] : []
      }),
    )
    names.push(...found.map(([name]) => name))
    if (names.length >= MAX_EXPANDABLE) break
    level = found.map(([name, target]) => [`${name}.`, target])
  }
  return names.slice(0, MAX_EXPANDABLE)
}

/** Describes, as a parameter, each condition that a field supports. */
function describeConditions({ service }: DescriptionScope, field: Field): readonly Parameter[] {
  const { fieldType, definition } = elementOf(field)
  const { limits } = service.plan
  const own =
    fieldType.valueType === null || !fieldType.isScalar ? undefined : describeOperand(fieldType.valueType)
  const choices = 'enum' in definition ? definition.enum : undefined
  const scalar = own && choices ? { type: own.type, enum: choices } : own
  return OPERATOR_NAMES.flatMap((operator): readonly Parameter[] => {
    const name = `q[${field.path}][${operator}]`
    if (!isOperator(operator)) return []
    const { operand } = OPERATORS[operator]
    switch (operand) {
      case 'scalar':
        return scalar ? [asJson(name, orNull(scalar), MEANINGS[operator])] : []
      case 'ordered':
        if (!own || !fieldType.isOrdered) return []
        return [own === TEXT ? asJson(name, own, MEANINGS[operator]) : asItIs(name, own, MEANINGS[operator])]
      case 'list':
        return scalar ? [describeList({ name, description: MEANINGS[operator] }, scalar, limits.values)] : []
      case 'pattern':
        return fieldType.holdsText
          ? [
              asJson(name, { type: 'string', maxLength: 512 }, MEANINGS[operator]),
              {
                name: `q[${field.path}][${OPTIONS}]`,
                description: 'i: `$regex` ignores letter case.',
                schema: { type: 'string', enum: ['i'] },
              },
            ]
          : []
      case 'flag':
        return [asItIs(name, { type: 'boolean' }, MEANINGS[operator])]
      default:
        return operand satisfies never
    }
  })
}

/** Describes a list of scalars. If every allowed value needs quotes, the list is written as JSON. */
function describeList({ name, description }: Parameter, scalar: JsonSchema, maxItems: number): Parameter {
  const choices = (scalar.enum as readonly Scalar[] | undefined)?.filter(isPlain)
  if (choices?.length === 0)
    return asJson(name, { type: 'array', items: orNull(scalar), maxItems }, description)
  const items = choices ? { ...scalar, enum: choices } : scalar === TEXT ? PLAIN_TEXT : scalar
  const others = scalar.type === 'string' ? NO_PLAIN_TEXT : NO_PLAIN_VALUE
  return asRepeated({ name, description: `${description} ${others}` }, { items, maxItems })
}

const NO_PLAIN_VALUE = 'A JSON array may also be empty, or contain null (the field is missing): `[null]`.'
const NO_PLAIN_TEXT =
  'A JSON array may also be empty, or contain null (the field is missing) and text that is `null` or begins with `"`, `[` or `{`: `[null,"null"]`.'

const MEANINGS = {
  $eq: 'The field equals this; null: the field is missing.',
  $ne: 'The field does not equal this.',
  $gt: 'The field is greater than this.',
  $gte: 'The field is greater than or equal to this.',
  $lt: 'The field is less than this.',
  $lte: 'The field is less than or equal to this.',
  $in: 'The field is one of these.',
  $nin: 'The field is none of these.',
  $regex: 'The field contains a match of this pattern.',
  $exists: 'true: the field has a value; false: the field is missing.',
} as const

function describeOperand(type: ValueType): JsonSchema | undefined {
  switch (type) {
    case 'string':
      return TEXT
    case 'timestamp':
      return describeTime({})
    case 'number':
    case 'integer':
      return describeNumber({ type })
    case 'boolean':
      return { type }
    case 'array':
    case 'object':
    case 'json':
      return undefined
    default:
      return type satisfies never
  }
}
