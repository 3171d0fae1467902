import { collectPaths, compileFields, SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { DefinitionCheck, Field } from '../fields/field-type.js'
import { fieldTypeOf } from '../fields/field-types.js'
import { checkCase, RESERVED_FIELD_NAMES } from '../fields/names.js'
import type { FieldRef } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { ConfigReport } from '../json/report.js'
import { suggest } from '../schema/names.js'
import { type BodyValidator, compileValidator } from '../schema/validator.js'
import type { CollectionPlan, IndexPlan } from '../storage.js'
import type { CollectionConfig, FieldDefinition } from '../types.js'
import { describeType } from './can-hold.js'
import { checkOwnValues } from './check-own-values.js'
import { UNSURE } from './shape/settle-shape.js'

/** The schema of a collection, compiled. */
export interface CompiledSchema {
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  readonly storage: CollectionPlan
}

/** Compiles the schema and the indexes of a collection whose shape is valid. */
export function compileSchema(
  name: string,
  config: CollectionConfig,
  parsePattern: ParsePattern,
  report: ConfigReport,
): CompiledSchema {
  const schema = report.at('schema')
  checkCase(Object.keys(config.schema), RESERVED_FIELD_NAMES, schema)
  const definitions = Object.fromEntries(
    Object.entries(config.schema).map(([field, definition]) => [
      field,
      settleDefinition(definition, schema.at(field)),
    ]),
  )
  const fields = compileFields(definitions)
  const indexes = compileIndexes(config, fields, report.at('indexes'))
  const indexed = new Set(indexes.flatMap((index) => index.fields.map(({ path }) => path)))
  const validate = compileValidator(fields, {
    indexed,
    additionalProperties: config.additionalProperties ?? false,
    parsePattern,
  })
  checkOwnValues(fields, validate, schema)
  const paths = new Map([...collectPaths(fields), ...SYSTEM_FIELD_PLANS].map((field) => [field.path, field]))
  return { fields, paths, validate, storage: { name, indexes, ...elementsOf(fields) } }
}

/** The references in arrays, by which a delete looks for documents. */
function elementsOf(fields: readonly Field[]): Pick<CollectionPlan, 'elements'> {
  const elements = fields.flatMap((field) => findElements(field, null))
  return elements.length > 0 ? { elements } : {}
}

/** `array` is the path of the array around a field. */
function findElements({ type, path, items, properties }: Field, array: string | null): readonly FieldRef[] {
  if (type === 'reference' && array !== null) {
    const element: FieldRef = { path: array, type: 'string', each: true }
    return [path === array ? element : { ...element, inside: path.slice(array.length + 1) }]
  }
  // What lies in two arrays is refused as a reference.
  const inner = items ? (array === null ? [items] : []) : properties
  return inner.flatMap((field) => findElements(field, items ? path : array))
}

/**
 * The definition in its settled form, after the checks that a JSON Schema cannot express. Attributes with a
 * fault are left out, so that the rest is still checked.
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
  // Some of its values have a fault.
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
  // Both are numbers, or texts whose order is that of their values.
  if ((min as number) <= (max as number)) return
  refuse(lower, `is greater than ${upper}`)
  unusable.add(upper)
}

/**
 * The indexes of unique fields, fields marked `index`, references, and those that the configuration declares.
 * `_id` is the key of every storage.
 */
function compileIndexes(
  config: CollectionConfig,
  fields: readonly Field[],
  report: ConfigReport,
): readonly IndexPlan[] {
  const candidates = [...fields, ...SYSTEM_FIELD_PLANS]
  const marked = fields.flatMap(({ ref, definition }): IndexPlan[] => {
    const { unique, index } = definition as { readonly unique?: boolean; readonly index?: boolean }
    // A delete looks for the documents that refer to the deleted one.
    return ref && (unique || index || definition.type === 'reference')
      ? [{ fields: [ref], unique: unique === true }]
      : []
  })
  const createdAt = SYSTEM_FIELD_PLANS.flatMap(({ name, ref }): IndexPlan[] =>
    ref && name === 'createdAt' ? [{ fields: [ref], unique: false }] : [],
  )
  // `flatMap` skips the holes of elements with a fault.
  const declared = (config.indexes ?? []).flatMap((index, i): IndexPlan[] => {
    const refs = index.fields.flatMap((name, j) => {
      const field = candidates.find((candidate) => candidate.name === name)
      if (field?.definition === UNSURE) return []
      if (field?.ref && field.fieldType.isScalar) return [field.ref]
      const known = candidates
        .filter(({ fieldType }) => fieldType.isScalar)
        .map((candidate) => candidate.name)
      const reason = field
        ? `is ${describeType(field)}, and holds no single values`
        : `is not a top-level field${suggest(name, known)}`
      report
        .at(i)
        .at('fields')
        .at(j)
        .fault(`${JSON.stringify(name)} ${reason}`)
      return []
    })
    return [{ fields: refs, unique: index.unique === true }]
  })
  return [...marked, ...createdAt, ...declared]
}
