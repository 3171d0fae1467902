import { collectPaths, compileFields, SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { DefinitionCheck, Field } from '../fields/field-type.js'
import { fieldTypeOf } from '../fields/field-types.js'
import { checkCase, RESERVED_FIELD_NAMES } from '../fields/names.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { ConfigReport } from '../json/report.js'
import { type BodyValidator, compileValidator } from '../schema/validator.js'
import type { CollectionPlan } from '../storage.js'
import type { CollectionConfig, FieldDefinition } from '../types.js'
import { checkOwnValues } from './check-own-values.js'
import { compileIndexes } from './compile-indexes.js'
import type { IsUnsure } from './shape/check-shape.js'

/** The schema of a collection, compiled. */
export interface CompiledSchema {
  readonly fields: readonly Field[]
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  readonly storage: CollectionPlan
}

/** The parts of a configuration that a schema depends on. */
interface SchemaContext {
  readonly parsePattern: ParsePattern
  readonly isUnsure: IsUnsure
}

/** Compiles the schema and the indexes of a collection whose shape is valid. */
export function compileSchema(
  name: string,
  config: CollectionConfig,
  { parsePattern, isUnsure }: SchemaContext,
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
  const indexes = compileIndexes(config, fields, { name, report, isUnsure })
  const indexed = new Set(indexes.flatMap((index) => index.fields.map(({ path }) => path)))
  const validate = compileValidator(fields, {
    indexed,
    additionalProperties: config.additionalProperties ?? false,
    parsePattern,
  })
  checkOwnValues(fields, validate, schema)
  const paths = new Map([...collectPaths(fields), ...SYSTEM_FIELD_PLANS].map((field) => [field.path, field]))
  return { fields, paths, validate, storage: { name, indexes } }
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
  // Both are numbers, or texts that sort like their values.
  if ((min as number) <= (max as number)) return
  refuse(lower, `is greater than ${upper}`)
  unusable.add(upper)
}
