import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { firstGrouped } from '../../model/columns.js'
import { type DescribedCollection, findField } from '../../model/description.js'
import { shortId } from '../../model/labels.js'
import {
  hasEquality,
  joinPairs,
  type ListQuery,
  toggleEquality,
  withoutEquality,
  writeFilter,
} from '../../model/list-query.js'
import { count } from '../../model/words.js'
import { nameOf } from '../../parts/field.js'
import { Problem } from '../../parts/notices.js'
import { Text } from '../../parts/value.js'
import { explain, isAborted } from '../../state/problem.js'
import { read } from '../../state/service.js'

interface Props {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  /** How often the documents were loaded; 0 before the first time. */
  readonly version: number
  readonly onChange: (query: ListQuery) => void
}

type Key = string | number | boolean | null

/** A group of the answer to an aggregate. */
interface Group {
  readonly key: { readonly [path: string]: Key }
  readonly count: number
  readonly [summary: string]: unknown
}

/** An answer, and what was asked for. Its groups stay until another answer to the same question replaces them. */
interface Found {
  readonly asked: string
  readonly groups: readonly Group[]
  readonly total: number
}

/** The intervals of a timestamp, each with the length of the part of a timestamp that names it. */
const INTERVALS: { readonly [form: string]: number } = { hour: 13, day: 10, week: 10, month: 7, year: 4 }

/** The maximum number of groups. */
const MOST = 60

/** Loads the groups of the matching documents, and loads them again with each `version`. */
function useGroups({ collection, query, version }: Props, by: string, measure: string) {
  const [found, problem] = [useSignal<Found | undefined>(undefined), useSignal('')]
  const [path = '', form = 'value'] = by.split(' ')
  const [summary = '', summed] = measure.split(' ')
  // The groups of other values stay, so that another one can be chosen.
  const filter = writeFilter(withoutEquality(query, path))
  const order = form !== 'value' ? path : summed ? `$${summary}.${summed}` : '$count'
  const asked = joinPairs([
    [`by[${path}]`, form],
    [`sort[${order}]`, '-1'],
    ['limit', String(Math.min(MOST, collection.maxLimit ?? MOST))],
    ['total', 'true'],
    ...(summed ? [[summary, JSON.stringify([summed])] as const] : []),
  ])

  async function load(signal: AbortSignal): Promise<void> {
    const way = { signal, note: `groups by ${path}`, query: filter ? `${filter}&${asked}` : asked }
    try {
      const { value, headers } = await read(`/${collection.name}/aggregate`, way)
      const groups = value as Group[]
      // The last intervals are requested, and shown in their order.
      if (form !== 'value') groups.reverse()
      found.value = { asked, groups, total: Number(headers.get('x-total-count')) }
      problem.value = ''
    } catch (thrown) {
      if (isAborted(thrown)) return
      found.value = undefined
      problem.value = explain(thrown)
    }
  }

  useEffect(() => {
    // Groups are requested after the documents are loaded.
    if (version === 0 || !path) return
    const ending = new AbortController()
    void load(ending.signal)
    return () => ending.abort()
  }, [filter, asked, version])
  return { path, form, found: found.value?.asked === asked ? found.value : undefined, problem }
}

/** Shows the groups of the matching documents, as a chart and as a table. */
export function Groups(props: Props) {
  const { fields, groupable, summable } = props.collection
  // A choice is a path and the form of its groups, or a summary and its path.
  const [by, measure] = [useSignal(firstGrouped(props.collection)), useSignal('')]
  const { path, form, found, problem } = useGroups(props, by.value, measure.value)
  if (groupable.length === 0) return null
  const [summary = '', summed = ''] = measure.value.split(' ')
  const kind = (findField(fields, path)?.items ?? findField(fields, path))?.kind
  const describeKey = (key: Key): string => {
    if (key === null) return '–'
    if (form !== 'value') return String(key).slice(0, INTERVALS[form])
    return kind === 'reference' ? shortId(key) : nameOf(key)
  }
  const rows = (found?.groups ?? []).map(({ key: { [path]: key = null }, ...group }) => ({
    key,
    text: describeKey(key),
    count: group.count,
    value: summed ? ((group[summary] as { [path: string]: number | null })[summed] ?? null) : group.count,
  }))
  return (
    <section class="groups" aria-label="Groups">
      <Choice name="Groups by" chosen={by}>
        {groupable.flatMap((one) => [
          one,
          ...(findField(fields, one)?.kind === 'time'
            ? Object.keys(INTERVALS).map((each) => `${one} ${each}`)
            : []),
        ])}
      </Choice>
      <Choice name="measure" chosen={measure}>
        {['sum', 'avg', 'min', 'max'].flatMap((each) => summable.map((one) => `${each} ${one}`))}
      </Choice>
      {path && problem.value && <Problem text={problem.value} />}
      {found && (
        <>
          <Chart rows={rows} />
          <GroupTable
            {...props}
            path={path}
            heads={[by.value, 'documents', ...(summed ? [measure.value] : [])]}
            canFilter={form === 'value'}
            rows={rows}
          >
            {found.total > rows.length && (
              <p class="hint">{count(found.total - rows.length, 'more group')}</p>
            )}
          </GroupTable>
        </>
      )}
    </section>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly chosen: Signal<string>
  readonly children: readonly string[]
}

const Choice = ({ name, chosen, children }: ChoiceProps) => (
  <label>
    {name}{' '}
    <select
      value={chosen.value}
      onChange={(event) => {
        chosen.value = event.currentTarget.value
      }}
    >
      <option value="">–</option>
      {children.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  </label>
)

interface Row {
  readonly key: Key
  readonly text: string
  readonly count: number
  /** The value that the chart shows. */
  readonly value: number | null
}

/** A bar for each group. The table has the same for those who do not see the chart. */
function Chart({ rows }: { readonly rows: readonly Row[] }) {
  const most = Math.max(...rows.map(({ value }) => Math.abs(value ?? 0))) || 1
  return (
    <div class="chart" aria-hidden="true">
      {rows.map(({ text, value }) => (
        <i
          key={text}
          class={Number(value) < 0 ? 'bad' : ''}
          style={{ height: `${Math.abs((100 * (value ?? 0)) / most)}%` }}
        />
      ))}
    </div>
  )
}

interface TableProps extends Props {
  readonly path: string
  readonly heads: readonly string[]
  readonly canFilter: boolean
  readonly rows: readonly Row[]
  readonly children: ComponentChildren
}

/** The groups as rows. A press on a key filters by its value. */
function GroupTable({ collection, query, onChange, path, heads, canFilter, rows, children }: TableProps) {
  // A filter that the form cannot show cannot be combined with a further condition.
  const isFilter =
    canFilter && query.filter.length === 0 && collection.filters.get(path)?.includes('$eq') === true
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the region must be scrollable by keyboard
    <div role="region" aria-label="Table of groups" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, text, count: documents, value }) => (
            <tr key={String(key)}>
              <th scope="row">
                {isFilter ? (
                  <button
                    type="button"
                    class="quiet"
                    aria-pressed={hasEquality(query, path, key)}
                    onClick={() => onChange(toggleEquality(query, path, key))}
                  >
                    <Text text={text} isShort />
                  </button>
                ) : (
                  <Text text={text} isShort />
                )}
              </th>
              <td class="right">{documents.toLocaleString('en')}</td>
              {heads.length > 2 && <td class="right">{String(value ?? '–')}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </div>
  )
}
