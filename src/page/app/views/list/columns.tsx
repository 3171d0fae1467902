import { allPaths } from '../../model/columns.js'
import type { DescribedCollection } from '../../model/description.js'
import { labelField } from '../../model/labels.js'
import type { ListQuery } from '../../model/list-query.js'
import { Menu } from '../../parts/menu.js'

interface Props {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  readonly shown: readonly string[]
  readonly onChange: (query: ListQuery) => void
}

/** The menu of columns: a list requests only the chosen ones. */
export function Columns({ collection, query, shown, onChange }: Props) {
  const label = labelField(collection)?.name
  const paths = allPaths(collection).filter((path) => path !== label && path !== '_id')
  const choose = (path: string, isOn: boolean): void => {
    const chosen = paths.filter((one) => (one === path ? isOn : shown.includes(one)))
    onChange({ ...query, project: label === undefined ? chosen : [label, ...chosen] })
  }
  return (
    <Menu name="Columns">
      {paths.map((path) => (
        <label class="check" key={path}>
          <input
            type="checkbox"
            checked={shown.includes(path)}
            onChange={(event) => choose(path, event.currentTarget.checked)}
          />
          {path}
        </label>
      ))}
      {query.project && (
        <button type="button" class="quiet" onClick={() => onChange({ ...query, project: undefined })}>
          Default columns
        </button>
      )}
    </Menu>
  )
}
