import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import type { FieldRef } from '../filter/filter.js'
import type { ConfigReport } from '../json/report.js'
import { suggest } from '../schema/names.js'
import type { IndexPlan } from '../storage.js'
import type { CollectionConfig } from '../types.js'
import { describeType } from './can-hold.js'
import { findReferences } from './references/find-references.js'
import type { IsUnsure } from './shape/check-shape.js'
import { UNSURE } from './shape/settle-shape.js'

/** The most elements of an array that a configuration declares as indexed: each has its own index entry. */
const MAX_ELEMENTS = 1000

/** The collection whose indexes are compiled. */
interface IndexContext {
  readonly name: string
  readonly report: ConfigReport
  readonly isUnsure: IsUnsure
}

/**
 * The indexes of unique fields, fields marked `index`, references at any depth, and those that the configuration
 * declares. `_id` is the primary key in every storage.
 */
export function compileIndexes(
  config: CollectionConfig,
  fields: readonly Field[],
  { name, report, isUnsure }: IndexContext,
): readonly IndexPlan[] {
  const marked = fields.flatMap((field): IndexPlan[] => {
    const { unique, index } = field.definition as { readonly unique?: boolean; readonly index?: boolean }
    const place = report.at('schema').at(field.name)
    // A delete looks for the documents that refer to the deleted one.
    const references = findReferences(field, name, place).flatMap(({ ref }) =>
      ref ? [{ fields: [ref], unique: unique === true }] : [],
    )
    if (index && field.items && !isIndexable(field) && field.items.definition !== UNSURE)
      place.at('index').fault(`is on ${describeType(field)}, not on a field of single values`)
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

/** Whether an index can hold the values of a field, or its elements. */
const isIndexable = ({ ref, fieldType, items }: Field): boolean =>
  ref !== null && (items ?? { fieldType }).fieldType.isScalar

function checkLength(
  maxItems: number | undefined,
  { place, isUnsure }: { readonly place: ConfigReport; readonly isUnsure: IsUnsure },
): void {
  if (isUnsure(place.path) || (maxItems !== undefined && maxItems <= MAX_ELEMENTS)) return
  const found = maxItems === undefined ? 'is missing' : `is ${maxItems}`
  place.fault(`${found}, and an indexed array has at most ${MAX_ELEMENTS.toLocaleString('en')} elements`)
}

function compileDeclared(
  { indexes = [] }: CollectionConfig,
  fields: readonly Field[],
  report: ConfigReport,
): readonly IndexPlan[] {
  const candidates = [...fields, ...SYSTEM_FIELD_PLANS]
  // `flatMap` skips the holes of elements with a fault.
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

/** The reason why a field cannot be the next one of an index; `undefined` if it can. */
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
    ? `is ${describeType(field)}, and ${JSON.stringify(other.path)} is one already: an index has at most one`
    : undefined
}
