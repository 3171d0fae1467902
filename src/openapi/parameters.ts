import type { Collection } from '../config/plan.js'
import type { Field } from '../fields/field-type.js'
import type { Scalar, ValueType } from '../filter/filter.js'
import type { JsonSchema } from '../json/json-schema.js'
import { includesProperty } from '../permissions/grants.js'
import { MAX_LEVELS } from '../query/compile-expand.js'
import { elementOf } from '../query/condition.js'
import { isOperator, OPERATOR_NAMES, OPTIONS, operatorOf } from '../query/operators.js'
import type { ParameterName } from '../query/raw-query.js'
import { isSystemField } from '../schema/names.js'
import { describeNumber, describeTime, orNull, TEXT } from './schemas/scalars.js'
import type { DescriptionScope } from './scope.js'

/** The parameters of the query language that a route takes, for a collection (CONTRACT.md §3). */
export const referToParameters = (
  scope: DescriptionScope,
  collection: Collection,
  names: readonly ParameterName[],
): readonly JsonSchema[] =>
  names.flatMap((name) =>
    scope.parametersOf(collection, name, () =>
      DESCRIPTIONS[name](scope, collection).map((parameter) => refer(scope, collection, parameter)),
    ),
  )

const refer = (scope: DescriptionScope, collection: Collection, parameter: Parameter): JsonSchema =>
  scope.components.refer('parameters', keyOf(collection, parameter), () => ({
    ...parameter,
    in: 'query',
  }))

/** A parameter of a query. */
interface Parameter extends JsonSchema {
  readonly name: string
  readonly description: string
}

/**
 * `articles.q.title.regex`, and `service.q.createdAt.gte`, which is that of all collections: only letters, digits and
 * `._-` may stand in the name of a component. `service.q.gte` is that of `_id`: generators drop the `_`, and there may be a
 * field `id`.
 */
function keyOf({ name: collection }: Collection, { name }: Parameter): string {
  const [parameter = '', path, ...others] = name.match(/[\w.]+/g) ?? []
  const isOwn = path === undefined ? OWN.has(parameter) : !isSystemField(path)
  const parts = [parameter, path ?? [], others].flat().filter((part) => part !== '_id')
  return [isOwn ? collection : 'service', ...parts].join('.')
}

/** The parameters without a path that collections have of their own. */
const OWN: ReadonlySet<string> = new Set<ParameterName>(['project', 'expand'])

type DescribeParameters = (scope: DescriptionScope, collection: Collection) => readonly Parameter[]

/** A value that is written as JSON. */
const asJson = (name: string, schema: JsonSchema, description: string): Parameter => ({
  name,
  description,
  content: { 'application/json': { schema } },
})

/** A value that is the same as JSON and in a form, as numbers and times are. */
const asItIs = (name: string, schema: JsonSchema, description: string): Parameter => ({
  name,
  description,
  schema,
})

/** A list, written as the parameter once for each value: without values nothing would be written. */
const asRepeated = (parameter: Parameter, schema: JsonSchema): Parameter => ({
  ...parameter,
  style: 'form',
  explode: true,
  schema: { type: 'array', ...schema, minItems: 1 },
})

/** Text that means itself without quotes. */
const PLAIN_TEXT: JsonSchema = { type: 'string', pattern: '^(?!["\\[{])[^\\x00]*$', not: { enum: ['null'] } }

/** Whether a value of a list means itself without quotes. */
const isPlain = (value: Scalar): boolean => typeof value !== 'string' || !/^(?:null$|["[{])/.test(value)

const WHOLE: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

const DESCRIPTIONS: { readonly [name in ParameterName]: DescribeParameters } = {
  q: (scope, collection) =>
    findReadable(scope, collection).flatMap((field) => describeConditions(scope, field)),
  sort: (scope, collection) =>
    findSortable(scope, collection).map(({ path }) => ({
      name: `sort[${path}]`,
      description: '1 ascending, -1 descending. Several are keys in their order.',
      schema: { type: 'integer', enum: [1, -1] },
    })),
  skip: () => [{ name: 'skip', description: 'How many documents are passed over.', schema: WHOLE }],
  after: () => [
    {
      name: 'after',
      description: 'In place of `skip`: `Next-Cursor` of the page before; of a stream, the `id` of an event.',
      schema: { type: 'string' },
    },
  ],
  lastEventId: () => [
    {
      name: 'lastEventId',
      description: 'The `id` of the last event, where a client cannot send `Last-Event-ID`.',
      schema: { type: 'string' },
    },
  ],
  limit: ({ service }) => {
    const { defaultLimit, maxLimit } = service.plan.limits
    const missing = defaultLimit ?? maxLimit
    return [
      {
        name: 'limit',
        description: `The most documents. Without it: ${missing ?? 'all'}.`,
        schema: { ...WHOLE, maximum: maxLimit ?? Number.MAX_SAFE_INTEGER },
      },
    ]
  },
  total: () => [
    {
      name: 'total',
      description: 'Asks for X-Total-Count, the number of all matches.',
      schema: { type: 'boolean', enum: [true] },
    },
  ],
  project: (scope, collection) => {
    const paths = findReadable(scope, collection).map(({ path }) => path)
    const example = paths.filter((path) => path !== '_id').slice(0, 2)
    return [
      {
        ...asRepeated(
          { name: 'project', description: 'Only these fields, and `_id`; `[]` is `_id` alone.' },
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
              description: 'The documents that these references name, in their place; `[]` names none.',
            },
            { items: nameOf(paths) },
          ),
        ]
      : []
  },
}

const nameOf = (names: readonly string[]): JsonSchema => ({ type: 'string', enum: names })

const findReadable = (scope: DescriptionScope, collection: Collection): readonly Field[] => {
  const { find, paths } = scope.names(collection)
  return paths().flatMap((path) => find(path) ?? [])
}

/** What each grant of the reader shows; of all readers together, what some grant shows. */
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

/** The most names of references that are listed: they multiply with each level. */
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

/** The conditions that a field takes, each as a parameter. */
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
    const { operand } = operatorOf(operator)
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
                description: 'Beside $regex: letter case does not matter.',
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

/** A list of scalars. Where each of a few values needs quotes, the list is JSON. */
function describeList({ name, description }: Parameter, scalar: JsonSchema, maxItems: number): Parameter {
  const choices = (scalar.enum as readonly Scalar[] | undefined)?.filter(isPlain)
  if (choices?.length === 0)
    return asJson(name, { type: 'array', items: orNull(scalar), maxItems }, description)
  const items = choices ? { ...scalar, enum: choices } : scalar === TEXT ? PLAIN_TEXT : scalar
  const others = scalar.type === 'string' ? NO_PLAIN_TEXT : NO_PLAIN_VALUE
  return asRepeated({ name, description: `${description} ${others}` }, { items, maxItems })
}

const NO_PLAIN_VALUE = 'One JSON array can also be empty, or hold null (is missing): `[null]`.'
const NO_PLAIN_TEXT =
  'One JSON array can also be empty, or hold null (is missing) and text that is `null` or begins with `"`, `[` or `{`: `[null,"null"]`.'

const MEANINGS = {
  $eq: 'is this; null: is missing.',
  $ne: 'is not this.',
  $gt: 'is greater.',
  $gte: 'is greater, or this.',
  $lt: 'is less.',
  $lte: 'is less, or this.',
  $in: 'is one of these.',
  $nin: 'is none of these.',
  $regex: 'contains a match of this pattern.',
  $exists: 'is there, or is not.',
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
