import type { Collection, ServicePlan } from '../../config/plan.js'
import { compileField } from '../../filter/compare.js'
import { and, type FieldRef, type Filter, not } from '../../filter/filter.js'
import { matches } from '../../filter/matches.js'
import { isUuid } from '../../json/uuid.js'
import { isSystemField } from '../../schema/names.js'
import type { JsonObject } from '../../types.js'
import { findDocument } from './find-document.js'
import type { Plans, Witness } from './types.js'

/** The documents that are stored where a counterexample runs. */
export interface Fixture {
  /** The configuration that has a collection: `before`, if both have it. */
  readonly planOf: (name: string) => ServicePlan | undefined
  readonly documentsOf: (name: string) => readonly JsonObject[]
  /** All documents by collection, as a seed has them. */
  readonly written: () => Witness['documents']
  /** Adds a document that a filter matches; false if none is found. */
  readonly add: (name: string, filter: Filter) => boolean
}

/** The most documents: each may lead to others. */
const MAX_DOCUMENTS = 50

/** Creates the fixture of some documents. */
export function createFixture({ before, after }: Plans, given: Witness['documents']): Fixture {
  const planOf = (name: string) => [before, after].find(({ collections }) => collections.has(name))
  const collectionOf = (name: string) => planOf(name)?.collections.get(name)
  const withSecrets = (name: string, document: JsonObject): JsonObject =>
    giveSecrets(collectionOf(name), document)
  const documents = new Map(
    Object.entries(given).map(([name, all]) => [name, all.map((one) => withSecrets(name, one))]),
  )
  let added = 0
  const documentsOf = (name: string): readonly JsonObject[] => documents.get(name) ?? []
  return {
    planOf,
    documentsOf,
    written: () => Object.fromEntries(documents),
    add(name, filter) {
      const collection = collectionOf(name)
      if (!collection || added === MAX_DOCUMENTS) return false
      const unlike = findUnlike(collection, documentsOf(name))
      const found = findDocument(collection, and([filter, ...unlike]))
      if (!found) return false
      added += 1
      const isOwn = isUuid(String(found._id)) && documentsOf(name).every(({ _id }) => _id !== found._id)
      const document = withSecrets(name, isOwn ? found : { ...found, _id: makeId(added) })
      if (!matches(filter, document) || !isTaken(collection, document)) return false
      documents.set(name, [...documentsOf(name), document])
      return true
    },
  }
}

/** The condition that a document shares no unique values with another. */
const findUnlike = ({ storage }: Collection, others: readonly JsonObject[]): readonly Filter[] =>
  storage.indexes.flatMap(({ unique, fields }) => {
    if (!unique) return []
    const columns = fields.map((field) => ({ field, read: compileField(field) }))
    return others.flatMap((other) => {
      const same = columns.flatMap((column) => equalTo(column, other))
      return same.length === fields.length ? [not(and(same))] : []
    })
  })

/** The condition that a column has the value of a document, if it has one. */
function equalTo(
  { field, read }: { readonly field: FieldRef; readonly read: ReturnType<typeof compileField> },
  document: JsonObject,
): readonly Filter[] {
  const value = read(document)
  return value === undefined ? [] : [{ kind: 'eq', field, value }]
}

const makeId = (number: number): string => `01990000-0000-7000-8000-${String(number).padStart(12, '1')}`

/** Rules do not see secrets, so no model contains them. */
function giveSecrets(collection: Collection | undefined, document: JsonObject): JsonObject {
  const lacking = collection?.hashes.filter(
    ({ name, definition }) => definition.required && !Object.hasOwn(document, name),
  )
  if (!lacking?.length) return document
  const secrets = lacking.map(({ name, definition }) => {
    const { minLength = 0 } = definition as { readonly minLength?: number }
    return [name, 'a secret'.padEnd(minLength, '.')]
  })
  return { ...document, ...Object.fromEntries(secrets) }
}

const isTaken = ({ validate }: Collection, document: JsonObject): boolean =>
  validate(Object.fromEntries(Object.entries(document).filter(([name]) => !isSystemField(name)))).length === 0
