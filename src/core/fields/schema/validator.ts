import type { Fault } from '../../errors.js'
import { compilePattern, type Matcher } from '../../filter/pattern/compile-pattern.js'
import type { ParsePattern } from '../../filter/pattern/parse-pattern.js'
import { isStorableScalar, searchUnstorable, stepsToRead } from '../../json/domain.js'
import { isObject, readOwn, thaw } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import { createReport } from '../../json/report.js'
import { whenReady } from '../../promises.js'
import { everySliced, forEachSliced, inOneSlice, type Slice, type Slices, untilDone } from '../../slices.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Field } from '../field-type.js'
import { compileKeywords, type FindFlaw, type Flaw, MAX_INDEXED_BYTES } from './keywords.js'
import { isFieldName, isFreeName } from './names.js'

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
  readonly inSlices: (
    body: JsonObject,
    slices: Slices,
    options?: FaultOptions,
  ) => MaybePromise<readonly Fault[]>
}

interface ValidatorOptions {
  readonly additionalProperties: boolean
  /** The names that undeclared properties cannot have. */
  readonly reserved: ReadonlySet<string>
  /** The paths of indexed fields. The elements of an array have the path of the array. */
  readonly indexed: ReadonlySet<string>
  readonly parsePattern: ParsePattern
}

/** The compiled checks of a value and of the values inside it. */
export interface Check {
  /** Checks the value itself. */
  readonly judge: FindFlaw
  /** The checks of the properties of an object, in the schema's order. A JSON pointer contains their names as they are. */
  readonly properties?: ReadonlyMap<string, Check> | undefined
  /** Whether the object around the value must have it. */
  readonly isRequired: boolean
  /** The check of the elements of an array. */
  readonly items?: Check | undefined
  /** The pattern of a string, and the error if no part of the string matches it. */
  readonly pattern?: { readonly matcher: Matcher; readonly flaw: Flaw } | undefined
  /** The number of required properties of an object. */
  readonly required: number
  /** The number of steps for looking up all declared properties of the value, including missing ones. */
  readonly steps: number
}

function compileCheck(field: Field, options: ValidatorOptions): Check {
  const { type, fieldType, definition, path, items } = field
  const schema = fieldType.bodySchema(field)
  const isHeld = fieldType.isScalar && fieldType.isUnbounded && options.indexed.has(path)
  const pattern = fieldType.patternOf?.(definition)
  const properties = compileProperties(field.properties, options)
  return {
    judge: compileKeywords(isHeld ? { ...schema, maxBytes: MAX_INDEXED_BYTES } : schema),
    isRequired: definition.required === true,
    properties: type === 'object' ? properties : undefined,
    items: items ? compileCheck(items, options) : undefined,
    pattern:
      pattern === undefined
        ? undefined
        : {
            matcher: compilePattern(options.parsePattern(pattern, { ignoreCase: false })),
            flaw: ['wrong_pattern', `must match the pattern ${pattern}`],
          },
    ...measure(properties),
  }
}

const compileProperties = (fields: readonly Field[], options: ValidatorOptions): ReadonlyMap<string, Check> =>
  new Map(fields.map((field) => [field.name, compileCheck(field, options)]))

const measure = (properties: ReadonlyMap<string, Check>): Pick<Check, 'required' | 'steps'> => {
  const all = [...properties.values()]
  return {
    required: all.filter(({ isRequired }) => isRequired).length,
    steps: all.reduce((total, { steps }) => total + 1 + steps, 0),
  }
}

/**
 * Compiles the validator of whole documents. Each check stops at the limit of faults, because a client controls the
 * number of elements and properties of a body.
 */
export function compileValidator(fields: readonly Field[], options: ValidatorOptions): BodyValidator {
  const properties = compileProperties(fields, options)
  const whole: Check = {
    judge: () => undefined,
    isRequired: true,
    properties,
    items: undefined,
    pattern: undefined,
    ...measure(properties),
  }
  const findFaults: BodyValidator['inSlices'] = (
    body,
    slices,
    { limit = MAX_FAULTS, known = [], isRelevant = () => true } = {},
  ) => {
    const faults = new Map(known.map((fault) => [fault.path, fault]))
    const add: AddFault = (at, [code, message]) => {
      const fault = { path: at, code, message }
      if (!isRelevant(fault)) return faults.size < limit
      const path = at.slice(0, MAX_PATH)
      if (faults.size < limit && !faults.has(path)) faults.set(path, { ...fault, path })
      return faults.size < limit
    }
    for (const name of Object.keys(body)) {
      if (properties.has(name) || isFreeName(options, name)) continue
      if (!add(toPointerPart(name), isFieldName(name) ? UNDECLARED : FORBIDDEN)) break
    }
    const report = createReport((path, code: string, message: string) => add(path, [code, message]))
    const searching = whenReady(searchUnstorable(body, report, slices), () => {
      judgeValue(whole, body, '', (path, flaw) => {
        add(path, flaw)
        return true
      })
      return searchProperties(properties, body, '', { add, slices })
    })
    return whenReady(searching, () => [...faults.values()])
  }
  const inSlices: BodyValidator['inSlices'] = (body, slices, how = {}) =>
    !how.known?.length && isSound(whole, body, slices) ? NO_FAULTS : findFaults(body, slices, how)
  const atOnce = (body: JsonObject, how?: FaultOptions) => inOneSlice((slices) => inSlices(body, slices, how))
  return Object.assign(atOnce, { inSlices })
}

const NO_FAULTS: readonly Fault[] = []

const REQUIRED: Flaw = ['required', 'is required']
const UNDECLARED: Flaw = ['unknown_property', 'is not in the schema']
const FORBIDDEN: Flaw = ['forbidden_name', 'is a forbidden name']

/**
 * Whether a value certainly has no fault, without looking for the path and the kind of a fault. Also false if the check
 * uses up the slice.
 */
function isSound(check: Check, value: unknown, slice: Slice): boolean {
  if (check.judge(value)) return false
  if (typeof value !== 'object' || value === null) {
    const { pattern } = check
    return isStorableScalar(value) && (!pattern || pattern.matcher.search(String(value)).goOn(slice) === true)
  }
  const { items, properties } = check
  if (items && Array.isArray(value)) {
    for (const element of thaw(value)) {
      slice.left -= items.steps + 2 * stepsToRead(element)
      if (slice.left <= 0 || !isSound(items, element, slice)) return false
    }
    return true
  }
  if (!properties || !isObject(value)) return false
  let missing = check.required
  for (const name of Object.keys(value)) {
    const property = properties.get(name)
    slice.left -= stepsToRead(value[name])
    if (!property || slice.left <= 0 || !isSound(property, value[name], slice)) return false
    if (property.isRequired) missing -= 1
  }
  return missing === 0
}

/** Adds a fault. Returns false when the limit is reached. */
type AddFault = (path: string, flaw: Flaw) => boolean

/**
 * Checks a value and the properties inside it, but no elements and patterns. Returns false when the limit is reached.
 */
export function judgeValue(
  { judge, properties }: Check,
  value: unknown,
  path: string,
  add: AddFault,
): boolean {
  const flaw = judge(value)
  if (flaw) return add(path, flaw)
  if (!properties || !isObject(value)) return true
  for (const [name, { isRequired }] of properties)
    if (isRequired && readOwn(value, name) === undefined && !add(`${path}/${name}`, REQUIRED)) return false
  for (const [name, property] of properties) {
    const inner = readOwn(value, name)
    if (inner !== undefined && !judgeValue(property, inner, `${path}/${name}`, add)) return false
  }
  return true
}

const hasInside = ({ pattern, items, properties }: Check): boolean => Boolean(pattern || items || properties)

interface Search {
  readonly add: AddFault
  readonly slices: Slices
}

/**
 * Checks what `judgeValue` leaves out, in slices because it may be large: patterns, elements of arrays, and undeclared
 * properties of objects.
 */
function searchValue(check: Check, value: unknown, path: string, search: Search): MaybePromise<unknown> {
  const { pattern, items, properties } = check
  const { add, slices } = search
  if (pattern && typeof value === 'string') {
    const { goOn } = pattern.matcher.search(value)
    let isFound: boolean | undefined
    const searching = untilDone(slices, () => {
      isFound = goOn(slices)
      return isFound !== undefined
    })
    return whenReady(searching, () => isFound || add(path, pattern.flaw))
  }
  if (items && Array.isArray(value))
    return everySliced(slices, value, (element, i) => {
      slices.left -= items.steps + 2 * stepsToRead(element)
      if (!judgeValue(items, element, `${path}/${i}`, add)) return false
      if (!hasInside(items)) return true
      return whenReady(searchValue(items, element, `${path}/${i}`, search), () => true)
    })
  if (!properties || !isObject(value)) return undefined
  for (const name of Object.keys(value))
    if (!properties.has(name) && !add(path + toPointerPart(name), UNDECLARED)) return undefined
  return searchProperties(properties, value, path, search)
}

const searchProperties = (
  properties: ReadonlyMap<string, Check>,
  value: JsonObject,
  path: string,
  search: Search,
): MaybePromise<void> =>
  forEachSliced(search.slices, properties, ([name, property]) =>
    Object.hasOwn(value, name) ? searchValue(property, value[name], `${path}/${name}`, search) : undefined,
  )
