import { collectPaths, compileFields, SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { DefinitionCheck, Field } from '../fields/field-type.js'
import { fieldTypeOf } from '../fields/field-types.js'
import { checkCase, checkStoredNames, RESERVED_FIELD_NAMES, reservedNames } from '../fields/names.js'
import { suggest } from '../fields/schema/names.js'
import { normalise } from '../fields/schema/normalise.js'
import { type BodyValidator, compileValidator } from '../fields/schema/validator.js'
import type { FieldRef } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import { isEqualJson } from '../json/equality.js'
import { toPointerPart } from '../json/pointer.js'
import type { ConfigReport } from '../json/report.js'
import { findVariables } from '../query/variable.js'
import { findReferences } from '../references/config/find-references.js'
import type { CollectionPlan, IndexPlan } from '../storage.js'
import type { CollectionConfig, FieldDefinition, JsonObject } from '../types.js'
import { describeType } from './describe-type.js'
import { judgeSample } from './judge-sample.js'
import type { IsUnsure } from './shape/check-shape.js'
import { UNSURE } from './shape/settle-shape.js'

/** The maximum number of elements of an indexed array, because each element has its own index entry. */
const MAX_ELEMENTS = 1000

/** The collection whose indexes are compiled, and the report for it. */
interface IndexContext {
  readonly name: string
  readonly report: ConfigReport
  readonly isUnsure: IsUnsure
}

/**
 * Returns the indexes of a collection: for unique fields, for fields marked `index`, for references at any
 * depth, for `createdAt`, and those in the configuration's `indexes`. `_id` needs none, because it is the
 * primary key in every storage.
 */
function compileIndexes(
  config: CollectionConfig,
  fields: readonly Field[],
  { name, report, isUnsure }: IndexContext,
): readonly IndexPlan[] {
  const marked = fields.flatMap((field): IndexPlan[] => {
    const { unique, index } = field.definition as { readonly unique?: boolean; readonly index?: boolean }
    const place = report.at('schema').at(field.name)
    // References are always indexed, because a deletion searches for documents that refer to the deleted
    // document.
    const references = findReferences(field, name, place).flatMap(({ ref }) =>
      ref ? [{ fields: [ref], unique: unique === true }] : [],
    )
    if (index && field.items && !isIndexable(field) && field.items.definition !== UNSURE)
      place.at('index').fault(`needs a field of single values, but the field is ${describeType(field)}`)
    if (references.length > 0 || !(unique || index) || !field.ref) return references
    return [{ fields: [field.ref], unique: unique === true }]
  })
  const createdAt = SYSTEM_FIELD_PLANS.flatMap(({ name, ref }): IndexPlan[] =>
    ref && name === 'createdAt' ? [{ fields: [ref], unique: false }] : [],
  )
  const declared = compileDeclared(config, fields, report.at('indexes'))
  const listed = new Set(declared.flatMap((index) => index.fields.map(({ path }) => path)))
  for (const [field, definition] of Object.entries(config.schema))
    if (definition.type === 'array' && (definition.index || listed.has(field)))
      checkLength(definition.maxItems, { place: report.at('schema').at(field).at('maxItems'), isUnsure })
  return [...marked, ...createdAt, ...declared]
}

/** Whether an index can contain the values of a field, or its elements. */
const isIndexable = ({ ref, fieldType, items }: Field): boolean =>
  ref !== null && (items ?? { fieldType }).fieldType.isScalar

function checkLength(
  maxItems: number | undefined,
  { place, isUnsure }: { readonly place: ConfigReport; readonly isUnsure: IsUnsure },
): void {
  if (isUnsure(place.path) || (maxItems !== undefined && maxItems <= MAX_ELEMENTS)) return
  const found = maxItems === undefined ? 'is missing' : `is ${maxItems}`
  place.fault(
    `${found}, but an indexed array must have a maxItems of at most ${MAX_ELEMENTS.toLocaleString('en')}`,
  )
}

function compileDeclared(
  { indexes = [] }: CollectionConfig,
  fields: readonly Field[],
  report: ConfigReport,
): readonly IndexPlan[] {
  const candidates = [...fields, ...SYSTEM_FIELD_PLANS]
  // Elements with a fault are holes, which `flatMap` skips.
  return indexes.flatMap((index, i): IndexPlan[] => {
    const place = report.at(i)
    const refs: FieldRef[] = []
    for (const [j, name] of Object.entries(index.fields)) {
      const field = candidates.find((candidate) => candidate.name === name)
      if (field?.definition === UNSURE || field?.items?.definition === UNSURE) continue
      const fault = judgeColumn(name, field, candidates, refs)
      if (fault !== undefined)
        place
          .at('fields')
          .at(j)
          .fault(`${JSON.stringify(name)} ${fault}`)
      else if (field?.ref) refs.push(field.ref)
    }
    const array = refs.find(({ each }) => each)
    if (array && index.unique)
      place.at('unique').fault(`${JSON.stringify(array.path)} is an array, so the index cannot be unique`)
    return [{ fields: refs, unique: index.unique === true }]
  })
}

/** Returns the reason why a field cannot be the next field of an index; `undefined` if it can. */
function judgeColumn(
  name: string,
  field: Field | undefined,
  candidates: readonly Field[],
  before: readonly FieldRef[],
): string | undefined {
  if (!field) {
    const known = candidates.filter(isIndexable).map((candidate) => candidate.name)
    return `is not a top-level field${suggest(name, known)}`
  }
  if (!isIndexable(field)) return `is ${describeType(field)}, not a field of single values`
  const other = field.items && before.find(({ each }) => each)
  return other
    ? `is ${describeType(field)}, and ${JSON.stringify(other.path)} is an array too: an index may contain at most one array`
    : undefined
}

/** The location of a value in a document, and the report for its definition. */
interface ValueLocation {
  readonly pointer: string
  readonly report: ConfigReport
  /** Creates a document that contains only this value, at this location. */
  readonly wrap: (value: unknown) => JsonObject
}

/** Checks that each field accepts its own default and the values of its `enum`. */
function checkOwnValues(fields: readonly Field[], validate: BodyValidator, schema: ConfigReport): void {
  const judge = (value: unknown, place: ValueLocation, report: ConfigReport): void => {
    for (const { path, message } of judgeSample({ fields, validate }, place.wrap(value), place.pointer)) {
      const inside = path.slice(place.pointer.length)
      report.fault(`is not a valid value of the field: ${inside}${inside && ' '}${message}`)
    }
  }
  const visit = (field: Field, place: ValueLocation): void => {
    const { definition, properties, items } = field
    const written = field.defaultAt(null)
    const [variable] = findVariables(written)
    if (variable !== undefined) {
      const allowed = 'a default must be a fixed value, or "$now" for a timestamp'
      place.report.at('default').fault(`${JSON.stringify(variable)} is a variable: ${allowed}`)
    } else if (written !== undefined) judge(written, place, place.report.at('default'))
    const given = definition.fill
    if (given !== undefined) {
      const fault = judgeFill(field, given)
      if (fault === undefined) judge(given, place, place.report.at('fill'))
      else place.report.at('fill').fault(fault)
    }
    const choices: readonly unknown[] = 'enum' in definition ? (definition.enum ?? []) : []
    for (const [i, value] of choices.entries()) judge(value, place, place.report.at('enum').at(i))
    visitAll(properties, { ...place, report: place.report.at('properties') })
    if (items) {
      const wrap: ValueLocation['wrap'] = (value) => place.wrap([value])
      visit(items, { pointer: `${place.pointer}/0`, report: place.report.at('items'), wrap })
    }
  }
  const visitAll = (inner: readonly Field[], { pointer, report, wrap }: ValueLocation): void => {
    for (const field of inner) {
      visit(field, {
        pointer: pointer + toPointerPart(field.name),
        report: report.at(field.name),
        wrap: (value) => wrap({ [field.name]: value }),
      })
    }
  }
  visitAll(fields, { pointer: '', report: schema, wrap: (value) => value as JsonObject })
}

/** Returns the reason why a field cannot have `fill`, or not this value; `undefined` if it can (CONTRACT.md §1, "Fill"). */
function judgeFill(field: Field, value: unknown): string | undefined {
  const { type, definition, fieldType } = field
  if (!definition.required)
    return 'needs "required": true: only a required field is filled in stored documents'
  if (fieldType.valueType === null || type === 'reference')
    return `cannot be given to a ${type}: each document needs a value of its own`
  if ('unique' in definition && definition.unique)
    return 'cannot be given to a unique field: each document needs a value of its own'
  const [variable] = findVariables(value)
  if (variable !== undefined) return `${JSON.stringify(variable)} is a variable: it must be a fixed value`
  const stored = normalise(field, value)
  return isEqualJson(stored, value)
    ? undefined
    : `must be in the form in which it is stored: ${JSON.stringify(stored)}`
}

/** The compiled schema of a collection. */
export interface CompiledSchema {
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  readonly storage: CollectionPlan
}

/** The functions that all schemas of a configuration share. */
interface SchemaContext {
  readonly parsePattern: ParsePattern
  readonly isUnsure: IsUnsure
  /** Receives the names that undeclared properties cannot have. */
  readonly reserved: Set<string>
}

/** Compiles the schema and the indexes of a collection whose shape is valid. */
export function compileSchema(
  name: string,
  config: CollectionConfig,
  { parsePattern, isUnsure, reserved }: SchemaContext,
  report: ConfigReport,
): CompiledSchema {
  const schema = report.at('schema')
  checkCase(Object.keys(config.schema), RESERVED_FIELD_NAMES, schema)
  checkStoredNames(config.schema, RESERVED_FIELD_NAMES, schema)
  const definitions = Object.fromEntries(
    Object.entries(config.schema).map(([field, definition]) => [
      field,
      settleDefinition(definition, schema.at(field)),
    ]),
  )
  const fields = compileFields(definitions)
  const indexes = compileIndexes(config, fields, { name, report, isUnsure })
  const indexed = new Set(indexes.flatMap((index) => index.fields.map(({ path }) => path)))
  for (const name of reservedNames(fields)) reserved.add(name)
  const validate = compileValidator(fields, {
    indexed,
    additionalProperties: config.additionalProperties ?? false,
    reserved,
    parsePattern,
  })
  checkOwnValues(fields, validate, schema)
  const paths = new Map([...collectPaths(fields), ...SYSTEM_FIELD_PLANS].map((field) => [field.path, field]))
  return { fields, paths, validate, storage: { name, indexes } }
}

/**
 * Performs the checks of a definition that a JSON Schema cannot express. Returns the definition in its final
 * form, without attributes that have a fault, so that the other attributes are still checked.
 */
function settleDefinition(definition: FieldDefinition, report: ConfigReport): FieldDefinition {
  const unusable = new Set<string>()
  const check: DefinitionCheck = {
    refuse(attribute, message, part = '') {
      unusable.add(attribute)
      report.at(attribute).within(part).fault(message)
    },
    report,
    settle: settleDefinition,
  }
  const { settle, bounds } = fieldTypeOf(definition.type)
  const settled = settle?.(definition, check) ?? definition
  if (bounds) checkBounds(settled, bounds, unusable, check)
  // A hole stands for an element with a fault.
  if ('enum' in settled && settled.enum && hasHoles(settled.enum)) unusable.add('enum')
  if (unusable.size === 0) return settled
  const usable = Object.entries(settled).filter(([attribute]) => !unusable.has(attribute))
  return Object.fromEntries(usable) as FieldDefinition
}

const hasHoles = (list: readonly unknown[]): boolean => Object.keys(list).length < list.length

function checkBounds(
  definition: FieldDefinition,
  [lower, upper]: readonly [lower: string, upper: string],
  unusable: Set<string>,
  { refuse }: DefinitionCheck,
): void {
  const attributes = new Map<string, unknown>(Object.entries(definition))
  const [min, max] = [attributes.get(lower), attributes.get(upper)]
  if (min === undefined || max === undefined || unusable.has(lower) || unusable.has(upper)) return
  // Both are numbers, or strings that sort like the times they represent.
  if ((min as number) <= (max as number)) return
  refuse(lower, `is greater than ${upper}`)
  unusable.add(upper)
}
