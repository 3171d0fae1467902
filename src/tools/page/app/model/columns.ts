import { type DescribedCollection, findField, unknownField } from './description.js'
import { isSystem, labelField } from './labels.js'
import type { Field } from './schema.js'

/** A column of a table. */
export interface TableColumn {
  readonly path: string
  readonly field: Field
}

/** The maximum number of default columns. */
const MOST = 6

const columnOf = ({ fields }: DescribedCollection, path: string): TableColumn => ({
  path,
  field: findField(fields, path) ?? unknownField(path),
})

/** Returns the columns of a list that follow the document's label: the chosen columns, or else the first fields. */
export function chooseColumns(
  collection: DescribedCollection,
  project: readonly string[] | undefined,
): readonly TableColumn[] {
  const label = labelField(collection)?.name
  const usual = collection.fields
    .filter(({ name, kind }) => !isSystem(name) && !['json', 'object', 'secret'].includes(kind))
    .map(({ name }) => name)
    .filter((name) => name !== label)
    .slice(0, MOST - 1)
  const last = collection.fields.some(({ name }) => name === 'createdAt') ? ['createdAt'] : []
  const paths = project?.filter((path) => path !== label && path !== '_id') ?? [...usual, ...last]
  return paths.map((path) => columnOf(collection, path))
}

/** Returns all paths that can be chosen as columns, in the order of the schema. */
export const allPaths = ({ projectable, fields }: DescribedCollection): readonly string[] =>
  projectable.size > 0 ? [...projectable] : fields.map(({ name }) => name)

/**
 * Returns the fields for which the list shows the number of documents per value: fields with few possible values that
 * can be used in filters.
 */
export function countedFields({ fields, filters }: DescribedCollection): readonly Field[] {
  return fields
    .filter(({ name, kind, items, choices }) => {
      const most = kind === 'array' ? items?.choices.length : choices.length
      const isChoice = kind === 'boolean' || kind === 'choice' || items?.kind === 'choice'
      return isChoice && (most ?? 0) <= 12 && filters.get(name)?.includes('$eq') === true
    })
    .slice(0, 4)
}

/** Returns the possible values of a field of `countedFields`. */
export const countedValues = ({ kind, choices, items }: Field): readonly unknown[] =>
  kind === 'boolean' ? [true, false] : kind === 'array' ? (items?.choices ?? []) : choices
