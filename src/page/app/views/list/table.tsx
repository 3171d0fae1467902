import type { TableColumn } from '../../model/columns.js'
import { valueAt } from '../../model/csv.js'
import type { DescribedCollection } from '../../model/description.js'
import { labelField, labelOf } from '../../model/labels.js'
import type { ListQuery } from '../../model/list-query.js'
import { writePlace } from '../../model/place.js'
import { Text, Value } from '../../parts/value.js'
import type { ListRow } from '../list.js'

interface Props {
  readonly collection: DescribedCollection
  readonly columns: readonly TableColumn[]
  readonly query: ListQuery
  readonly rows: readonly ListRow[]
  readonly onSort: (query: ListQuery) => void
}

/** The documents as rows, first the label of each as a link. */
export function Table({ collection, columns, query, rows, onSort }: Props) {
  const { name, operations } = collection
  const label = labelField(collection)
  const first = label?.name ?? '_id'
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the region must be scrollable by keyboard
    <div class="scroll" role="region" aria-label={name} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {[first, ...columns.map(({ path }) => path)].map((path) => (
              <HeadCell key={path} {...{ path, query, onSort }} canSort={collection.sortable.has(path)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row._id}>
              <th scope="row">
                {operations.has('read') ? (
                  <a href={writePlace({ view: 'document', collection: name, id: row._id })}>
                    <Text text={labelOf(collection, row)} isShort />
                  </a>
                ) : (
                  <Text text={labelOf(collection, row)} isShort />
                )}
              </th>
              {columns.map(({ path, field }) => (
                <td
                  key={path}
                  class={field.kind === 'number' || field.kind === 'integer' ? 'right' : undefined}
                >
                  <Value field={field} value={valueAt(row, path)} isShort />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface HeadProps {
  readonly path: string
  readonly canSort: boolean
  readonly query: ListQuery
  readonly onSort: (query: ListQuery) => void
}

function HeadCell({ path, canSort, query, onSort }: HeadProps) {
  const key = query.sort.find((one) => one.path === path)
  const order = key ? (key.descending ? 'descending' : 'ascending') : 'none'
  if (!canSort) return <th scope="col">{path}</th>
  const sort = key ? (key.descending ? [] : [{ path, descending: true }]) : [{ path, descending: false }]
  return (
    <th scope="col" aria-sort={order}>
      <button type="button" class="sort" onClick={() => onSort({ ...query, sort })}>
        {path}
        <span aria-hidden="true" class={`arrow ${order}`} />
      </button>
    </th>
  )
}
