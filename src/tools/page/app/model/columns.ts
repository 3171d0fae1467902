import { type DescribedCollection, findField, unknownField } from './description.js'
import { isSystem, labelField } from './labels.js'
import type { Field } from './schema.js'

/** A column of a table. */
export interface TableColumn {
  readonly path: string
  readonly field: Field
}

/** The most columns of the default selection. */
const MOST = 6

const columnOf = ({ fields }: DescribedCollection, path: string): TableColumn => ({
  path,
  field: findField(fields, path) ?? unknownField(path),
})

/** The columns of a list, after the document's name: the chosen ones, else the first ones. */
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

/** All paths that can be requested, in the order of the schema. */
export const allPaths = ({ projectable, fields }: DescribedCollection): readonly string[] =>
  projectable.size > 0 ? [...projectable] : fields.map(({ name }) => name)

/** The fields whose values are counted: those with few values, each of which is a possible filter. */
export function countedFields({ fields, filters }: DescribedCollection): readonly Field[] {
  return fields
    .filter(({ name, kind, items, choices }) => {
      const most = kind === 'array' ? items?.choices.length : choices.length
      const isChoice = kind === 'boolean' || kind === 'choice' || items?.kind === 'choice'
      return isChoice && (most ?? 0) <= 12 && filters.get(name)?.includes('$eq') === true
    })
    .slice(0, 4)
}

/** The values of such a field. */
export const countedValues = ({ kind, choices, items }: Field): readonly unknown[] =>
  kind === 'boolean' ? [true, false] : kind === 'array' ? (items?.choices ?? []) : choices
