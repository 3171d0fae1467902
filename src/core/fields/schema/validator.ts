import type { Fault } from '../../errors.js'
import { compilePattern } from '../../filter/pattern/compile-pattern.js'
import type { ParsePattern } from '../../filter/pattern/parse-pattern.js'
import { isStorableScalar, searchUnstorable, stepsToRead } from '../../json/domain.js'
import { isObject, thaw } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import { createReport } from '../../json/report.js'
import { runAtOnce, type Slice, type Sliced } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Field } from '../field-type.js'
import { MAX_INDEXED_BYTES, toObjectSchema, toValueSchema } from '../object-schema.js'
import { MAX_SECRET_BYTES } from '../types/hash.js'
import { compileJsonSchema, type Violation } from './json-schema.js'
import { isFieldName } from './names.js'

/** The maximum number of faults in one response (CONTRACT.md §4). */
export const MAX_FAULTS = 50
/**
 * The maximum length of a fault's path; a longer path is cut. Clients choose the names in a body, so without
 * this limit they could make a response as large as they like.
 */
export const MAX_PATH = 256

/** Which faults a validator returns. */
export interface FaultOptions {
  /** The maximum number of faults to find. Default 50. */
  readonly limit?: number
  /** Faults that were found earlier. There is at most one fault for each path. */
  readonly known?: readonly Fault[]
  /** Whether a fault is reported. Other faults are skipped and do not count towards the limit. */
  readonly isRelevant?: (fault: Fault) => boolean
}

/** Finds all faults of a normalised body, one per path. The body can be stored if there are none. */
export interface BodyValidator {
  (body: JsonObject, options?: FaultOptions): readonly Fault[]
  /** Does the same, in slices. */
  readonly inSlices: (body: JsonObject, slice: Slice, options?: FaultOptions) => Sliced<readonly Fault[]>
  /**
   * Whether a body certainly has no fault, which is the common case. Also false if the check uses up the
   * slice.
   */
  readonly isFlawless: (body: JsonObject, slice: Slice) => boolean
}

/** The options of a validator. */
export interface ValidatorOptions extends InnerOptions {
  readonly additionalProperties: boolean
}

/** The options that also apply to nested values. */
interface InnerOptions {
  /** The paths of indexed fields. The elements of an array have the path of the array. */
  readonly indexed: ReadonlySet<string>
  readonly parsePattern: ParsePattern
}

/**
 * Compiles the validator of whole documents. Compiling takes milliseconds, once per collection at start. Each
 * check stops at the limit of faults, because a client controls the number of elements and properties of a
 * body.
 */
export function compileValidator(fields: readonly Field[], options: ValidatorOptions): BodyValidator {
  const validate = compileJsonSchema(toObjectSchema(fields, options.indexed))
  const isSound = compileObjectSoundness(fields, options)
  const checks = fields.flatMap((field): (readonly [string, Check])[] => {
    const check = compileCheck(field, options)
    return check ? [[field.name, check]] : []
  })
  const declared = new Set(fields.map(({ name }) => name))
  const findFaults: BodyValidator['inSlices'] = function* (
    body,
    slice,
    { limit = MAX_FAULTS, known = [], isRelevant = () => true } = {},
  ) {
    let faults: Map<string, Fault> | undefined
    const collect = (): Map<string, Fault> => {
      faults ??= byPath(known)
      return faults
    }
    const add: AddFault = (fault) => {
      const found = collect()
      if (!isRelevant(fault)) return found.size < limit
      const path = fault.path.slice(0, MAX_PATH)
      if (found.size < limit && !found.has(path)) found.set(path, { ...fault, path })
      return found.size < limit
    }
    for (const name of Object.keys(body)) {
      if (declared.has(name)) continue
      const fault = isFieldName(name) ? undeclaredName(name, '') : forbiddenName(name)
      if ((fault.code === 'forbidden_name' || !options.additionalProperties) && !add(fault)) break
    }
    const report = createReport((path, code: string, message: string) => add({ path, code, message }))
    yield* searchUnstorable(body, report, slice)
    for (const violation of validate(body)) add(describeViolation(violation))
    for (const [name, check] of checks) {
      if (Object.hasOwn(body, name)) yield* check(body[name], toPointerPart(name), add, slice)
    }
    return known.length > 0 || faults ? [...collect().values()] : NONE
  }
  const isFlawless = (body: JsonObject, slice: Slice) => isSound(body, slice) && validate(body).length === 0
  const inSlices: BodyValidator['inSlices'] = function* (body, slice, options = {}) {
    if (!options.known?.length && isFlawless(body, slice)) return NONE
    return yield* findFaults(body, slice, options)
  }
  const atOnce = (body: JsonObject, how?: FaultOptions) => runAtOnce((slice) => inSlices(body, slice, how))
  return Object.assign(atOnce, { inSlices, isFlawless })
}

const NONE: readonly Fault[] = []

/**
 * Whether a value certainly has none of the faults that the JSON Schema of a body does not find. Also false
 * if the check uses up the slice.
 */
type Soundness = (value: unknown, slice: Slice) => boolean

function compileSoundness(field: Field, options: InnerOptions): Soundness {
  const { type, fieldType, definition, items, properties } = field
  if (items) return compileArraySoundness(items, options)
  if (type === 'object') return compileObjectSoundness(properties, options)
  const pattern = fieldType.patternOf?.(definition)
  if (pattern === undefined) return isStorableScalar
  const matcher = compilePattern(options.parsePattern(pattern, { ignoreCase: false }))
  return (value, slice) =>
    typeof value === 'string' && isStorableScalar(value) && matcher.search(value).goOn(slice) === true
}

function compileObjectSoundness(properties: readonly Field[], options: InnerOptions): Soundness {
  const known = new Map(properties.map((one) => [one.name, compileSoundness(one, options)]))
  return (value, slice) =>
    isObject(value) &&
    Object.keys(value).every((name) => {
      slice.left -= stepsToRead(value[name])
      return slice.left > 0 && (known.get(name)?.(value[name], slice) ?? false)
    })
}

/** Returns the number of steps for looking up all declared properties of a value, including missing ones. */
const stepsToJudge = ({ properties }: Field): number =>
  properties.reduce((steps, property) => steps + 1 + stepsToJudge(property), 0)

function compileArraySoundness(items: Field, options: InnerOptions): Soundness {
  const validate = compileJsonSchema(toValueSchema(items, options.indexed))
  const isSound = compileSoundness(items, options)
  const steps = stepsToJudge(items)
  return (value, slice) =>
    Array.isArray(value) &&
    thaw(value).every((element) => {
      slice.left -= steps + 2 * stepsToRead(element)
      return slice.left > 0 && isSound(element, slice) && validate(element).length === 0
    })
}

/** Adds a fault. Returns false when the limit is reached. */
type AddFault = (fault: Fault) => boolean

/** Checks a value, in slices because it may be large. */
type Check = (value: unknown, path: string, add: AddFault, slice: Slice) => Sliced<void>

/**
 * Compiles the checks that the JSON Schema of a body does not contain: undeclared properties of objects,
 * elements of arrays, and patterns, because their search must pause. Returns `undefined` if a field needs
 * none of them.
 */
function compileCheck(
  { type, fieldType, definition, items, properties }: Field,
  options: InnerOptions,
): Check | undefined {
  if (items) return compileArrayCheck(items, options)
  if (type === 'object') return compileObjectCheck(properties, options)
  const pattern = fieldType.patternOf?.(definition)
  return pattern === undefined ? undefined : compilePatternCheck(pattern, options)
}

function compilePatternCheck(pattern: string, options: InnerOptions): Check {
  const matcher = compilePattern(options.parsePattern(pattern, { ignoreCase: false }))
  return function* (value, path, add, slice) {
    if (typeof value !== 'string') return
    const search = matcher.search(value)
    let isFound = search.goOn(slice)
    while (isFound === undefined) {
      yield
      isFound = search.goOn(slice)
    }
    if (!isFound) add(describeViolation({ path, keyword: 'pattern', params: { pattern } }))
  }
}

function compileObjectCheck(properties: readonly Field[], options: InnerOptions): Check {
  const declared = new Set(properties.map(({ name }) => name))
  const checks = properties.map((property) => [property.name, compileCheck(property, options)] as const)
  return function* (value, path, add, slice) {
    if (!isObject(value)) return
    for (const name of Object.keys(value)) if (!declared.has(name) && !add(undeclaredName(name, path))) return
    for (const [name, check] of checks) {
      if (check && Object.hasOwn(value, name))
        yield* check(value[name], path + toPointerPart(name), add, slice)
    }
  }
}

function compileArrayCheck(items: Field, options: InnerOptions): Check {
  const validate = compileJsonSchema(toValueSchema(items, options.indexed))
  const [check, steps] = [compileCheck(items, options), stepsToJudge(items)]
  return function* (value, path, add, slice) {
    if (!Array.isArray(value)) return
    for (let i = 0; i < value.length; i++) {
      slice.left -= steps + 2 * stepsToRead(value[i])
      if (slice.left <= 0) yield
      for (const violation of validate(value[i])) {
        if (!add(describeViolation({ ...violation, path: `${path}/${i}${violation.path}` }))) return
      }
      if (check) yield* check(value[i], `${path}/${i}`, add, slice)
    }
  }
}

const undeclaredName = (name: string, at: string): Fault => ({
  path: at + toPointerPart(name),
  code: 'unknown_property',
  message: 'is not in the schema',
})

const forbiddenName = (name: string): Fault => ({
  path: toPointerPart(name),
  code: 'forbidden_name',
  message: 'is a forbidden name',
})

const count = (number: unknown, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`

type DescribeKeyword = (params: Violation['params']) => readonly [code: string, message: string]

/**
 * The code and message of the fault for each keyword of a body's schema. The message for `enum` does not list
 * the values, because some writers may not read them.
 */
const DESCRIPTIONS: { readonly [keyword: string]: DescribeKeyword } = {
  required: () => ['required', 'is required'],
  type: ({ type }) => ['wrong_type', `must be ${describeType(String(type))}`],
  enum: () => ['not_allowed', 'is not one of the allowed values'],
  format: ({ format }) => ['wrong_format', `must be a valid ${format}`],
  pattern: ({ pattern }) => ['wrong_pattern', `must match the pattern ${pattern}`],
  minLength: ({ limit }) => ['too_short', `must have at least ${count(limit, 'character')}`],
  maxLength: ({ limit }) => ['too_long', `must have at most ${count(limit, 'character')}`],
  minItems: ({ limit }) => ['too_few', `must have at least ${count(limit, 'element')}`],
  maxItems: ({ limit }) => ['too_many', `must have at most ${count(limit, 'element')}`],
  minimum: ({ limit }) => ['too_small', `must be at least ${limit}`],
  maximum: ({ limit }) => ['too_large', `must be at most ${limit}`],
  notBefore: () => ['too_small', 'is before the earliest time allowed'],
  notAfter: () => ['too_large', 'is after the latest time allowed'],
  maxBytes: () => [
    'too_long',
    `is too long in UTF-8: a secret may have at most ${MAX_SECRET_BYTES} bytes, an indexed string at most ${MAX_INDEXED_BYTES}`,
  ],
}

/** Returns the fault for a violation of a body's schema. */
export function describeViolation({ path, keyword, params }: Violation): Fault {
  const [code, message] = DESCRIPTIONS[keyword]?.(params) ?? ['invalid', 'is not valid']
  return { path, code, message }
}

const describeType = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

const byPath = (faults: readonly Fault[]): Map<string, Fault> =>
  new Map(faults.map((fault) => [fault.path, fault]))
