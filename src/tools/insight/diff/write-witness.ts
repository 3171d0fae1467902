import type { Field } from '../../../core/fields/field-type.js'
import type { Scalar } from '../../../core/filter/filter.js'
import { isEqualJson } from '../../../core/json/equality.js'
import { isObject, readOwn } from '../../../core/json/own-properties.js'
import type { JsonObject } from '../../../core/types.js'
import type { Comparing } from './find-differences.js'
import { bodyKey, callerKey, storedKey, TIME } from './model/sources.js'
import { fieldsOf, isRequiredInside, type Sides } from './model/universe.js'
import { isList, isOpaque, type Model, type Value, type Variable, type Variables } from './solver/variable.js'
import type { Witness, WitnessCaller } from './types.js'

/** A model, and the variables for which it was found. */
export interface WitnessModel {
  readonly variables: Variables
  readonly model: Model
  /** Whether `before` would store the document unchanged. */
  readonly isFresh: boolean
}

/** The `_id` of a document if no condition concerns it. */
const SOME_ID = '01990000-0000-7000-8000-000000000000'
const SOME_TIME = '2026-01-01T00:00:00.000Z'
/** The `id` of a caller if no condition concerns it. */
export const SOME_CALLER = 'ann'

const METHODS = { read: 'GET', create: 'POST', patch: 'PATCH', put: 'PUT', delete: 'DELETE' } as const

/** Builds the counterexample for a model. Claims become fields of the caller. */
export function writeWitness(comparing: Comparing, shown: WitnessModel): Witness {
  const { sides, operation, asker } = comparing
  const { name } = sides.after
  const document = operation === 'create' ? undefined : writeDocument(sides, shown)
  const hasBody = operation === 'create' || operation === 'patch' || operation === 'put'
  const path = document ? `/${name}/${encodeURIComponent(String(document._id))}` : `/${name}`
  return {
    caller: asker && writeCaller(asker.roles, shown),
    documents: document ? { [name]: [document] } : {},
    request: {
      method: METHODS[operation],
      path,
      ...(hasBody ? { body: writeBody(sides, shown) } : {}),
    },
    now: String(shown.model.values.get(TIME) ?? SOME_TIME),
  }
}

/** The parts of a caller that rules use, and their values in a counterexample. */
export interface HeldNames {
  /** The names of the caller's fields and claims that rules use. */
  readonly names: ReadonlySet<string>
  /** The values of the claims that the caller has. A claim may have no values. */
  readonly claims: ReadonlyMap<string, readonly Scalar[]>
  /** Whether the counterexample is still valid with other values of claims. */
  readonly staysWith: (claims: ReadonlyMap<string, readonly Scalar[]>) => boolean
}

function writeCaller(roles: readonly string[], shown: WitnessModel): WitnessCaller {
  const { _id = SOME_CALLER, ...fields } = readUnder(shown, callerKey(''))
  return { id: String(_id), roles, ...fields }
}

/** Builds the body for a model so that both sides accept the body. */
const writeBody = ({ before, after }: Sides, shown: WitnessModel): JsonObject =>
  [before, after].reduce(
    (body, { fields }) =>
      complete(body, fields, {
        find: (path) => shown.variables.get(bodyKey(path)),
        isRequired: isRequiredInside,
      }),
    readUnder(shown, bodyKey('')),
  )

/** Builds the stored document for a model. */
export function writeDocument(sides: Sides, shown: WitnessModel): JsonObject {
  const asked = readUnder(shown, storedKey(''))
  const stored = shown.isFresh
    ? complete(asked, sides.before.fields, {
        find: (path) => shown.variables.get(storedKey(path)),
        isRequired: ({ type, definition }) => definition.required === true && type !== 'hash',
      })
    : asked
  const document: JsonObject = {
    _id: SOME_ID,
    createdAt: SOME_TIME,
    updatedAt: SOME_TIME,
    createdBy: null,
    ...stored,
  }
  const declared = [...fieldsOf(sides).keys()]
  const order = ['_id', ...declared.filter((name) => !SYSTEM.includes(name)), ...Object.keys(document)]
  return Object.fromEntries(
    [...new Set(order)].flatMap((name) => (Object.hasOwn(document, name) ? [[name, document[name]]] : [])),
  )
}

/** The inputs of `complete`. */
interface Completing {
  readonly find: (path: string) => Variable | undefined
  readonly isRequired: (field: Field) => boolean
}

/** Adds required values, and more elements to lists that are too short. No condition concerns these values. */
function complete(object: JsonObject, fields: readonly Field[], completing: Completing): JsonObject {
  const { find, isRequired } = completing
  const completed = { ...object }
  for (const field of fields) {
    const { name, path, items, properties } = field
    const value = readOwn(object, name) ?? (isRequired(field) ? sampleOf(find(path)) : undefined)
    if (value === undefined) continue
    if (properties.length > 0 && isObject(value)) completed[name] = complete(value, properties, completing)
    else completed[name] = items && Array.isArray(value) ? lengthen(value, field) : value
  }
  return completed
}

/** Returns a possible value of a variable; `undefined` if none is known. */
function sampleOf(variable: Variable | undefined): unknown {
  const value = variable?.values.find((one) => one !== undefined)
  return value === undefined
    ? undefined
    : toJson(value, variable?.hasElement ? variable.elements.slice(0, 1) : [])
}

/** Returns the minimum length of a list. */
const leastOf = ({ definition }: Field): number => ('minItems' in definition ? (definition.minItems ?? 0) : 0)

/** Makes a list as long as its field requires, by repeating its first element. */
const lengthen = (list: readonly unknown[], field: Field): readonly unknown[] => {
  const missing = list.length > 0 ? leastOf(field) - list.length : 0
  return missing > 0 ? [...list, ...Array(missing).fill(list[0])] : list
}

const SYSTEM: readonly string[] = ['createdAt', 'updatedAt', 'createdBy']

/** Reads the values of the variables whose keys have a prefix, as one object. */
function readUnder({ model: { values, lists } }: WitnessModel, prefix: string): JsonObject {
  const written: { [name: string]: unknown } = {}
  const paths = [...values.keys()].filter((key) => key.startsWith(prefix)).sort()
  for (const key of paths) {
    const value = values.get(key)
    if (value === undefined) continue
    const names = key.slice(prefix.length).split('.')
    const last = names.pop() ?? ''
    let inner = written
    for (const name of names) {
      const next = inner[name]
      const outer = typeof next === 'object' && next !== null ? { ...next } : {}
      inner[name] = outer
      inner = outer as typeof written
    }
    const json = toJson(value, lists.get(key) ?? [])
    if (!isEqualJson(inner[last], json)) inner[last] = json
  }
  return written
}

const toJson = (value: Value, elements: readonly unknown[]): unknown =>
  isList(value) ? [...elements] : isOpaque(value) ? value.sample : value
