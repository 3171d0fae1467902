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

/** Returns the path by which a list groups its documents at first: a field with few possible values; `''` for none. */
export const firstGrouped = ({ fields, groupable }: DescribedCollection): string =>
  fields.find(
    ({ name, kind, items }) => groupable.includes(name) && /^(?:boolean|choice)$/.test(items?.kind ?? kind),
  )?.name ?? ''
