import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { allPaths, chooseColumns, type TableColumn } from '../model/columns.js'
import { valueAt } from '../model/csv.js'
import type { DescribedCollection } from '../model/description.js'
import { labelField, labelOf } from '../model/labels.js'
import {
  joinPairs,
  type ListQuery,
  readListQuery,
  toFilter,
  writeFilter,
  writeListQuery,
  writeNext,
} from '../model/list-query.js'
import { writePlace } from '../model/place.js'
import { count } from '../model/words.js'
import { Heading, useReturn } from '../parts/heading.js'
import { Menu } from '../parts/menu.js'
import { Absent, Loading, Problem, say } from '../parts/notices.js'
import { Text, Value } from '../parts/value.js'
import { description } from '../state/description.js'
import { download, type Format } from '../state/download.js'
import { go, whyHere } from '../state/place.js'
import { explain, isAborted } from '../state/problem.js'
import { countAll, createPageClient, read } from '../state/service.js'
import { epoch } from '../state/session.js'
import { Filters } from './list/filters.js'
import { Groups } from './list/groups.js'

interface DownloadProps {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  readonly columns: readonly string[]
}

/** The menu that downloads all matching documents as a file. */
function Download({ collection, query, columns }: DownloadProps) {
  const [done, problem] = [useSignal<number | undefined>(undefined), useSignal('')]
  const ending = useRef<AbortController>(undefined)
  const label = labelField(collection)?.name
  const all = ['_id', ...(label ? [label] : []), ...columns]

  async function begin(format: Format): Promise<void> {
    if (done.value !== undefined) return
    ending.current = new AbortController()
    problem.value = ''
    done.value = 0
    try {
      const { signal } = ending.current
      const tell = (n: number): void => {
        done.value = n
      }
      const n = await download(collection, { query, format, columns: all, signal, tell })
      say(`${count(n, 'document')} downloaded.`)
    } catch (thrown) {
      if (!isAborted(thrown)) problem.value = `${explain(thrown)} The incomplete download was discarded.`
    } finally {
      done.value = undefined
    }
  }
  return (
    <Menu name="Download">
      <p class="hint">All matching documents, on all pages.</p>
      {done.value === undefined ? (
        <div class="actions">
          <button type="button" onClick={() => void begin('csv')}>
            CSV, for spreadsheets
          </button>
          <button type="button" onClick={() => void begin('json')}>
            JSON
          </button>
        </div>
      ) : (
        <div class="actions">
          <p role="status">{count(done.value, 'document')}…</p>
          <button type="button" class="quiet" onClick={() => ending.current?.abort()}>
            Stop
          </button>
        </div>
      )}
      {problem.value && <Problem text={problem.value} />}
    </Menu>
  )
}

interface ColumnsProps {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  readonly shown: readonly string[]
  readonly onChange: (query: ListQuery) => void
}

/** The menu of columns. The list requests only the chosen columns. */
function Columns({ collection, query, shown, onChange }: ColumnsProps) {
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

interface TableProps {
  readonly collection: DescribedCollection
  readonly columns: readonly TableColumn[]
  readonly query: ListQuery
  readonly rows: readonly ListRow[]
  readonly onSort: (query: ListQuery) => void
}

/** The documents as rows. The first cell of a row is the label of the document, as a link. */
function Table({ collection, columns, query, rows, onSort }: TableProps) {
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

export interface ListRow {
  readonly _id: string
  readonly [field: string]: unknown
}

const PAGE = 25

/** The milliseconds after the last change until the list reloads, so that several changes cause one reload. */
const GATHER = 150

interface Props {
  readonly name: string
  /** The query string for the API. */
  readonly query: string
}

/** The view with the list of a collection's documents. */
export function ListView({ name, query }: Props) {
  const collection = description.value?.collections.get(name)
  if (!collection?.operations.has('list'))
    return (
      <section>
        <Heading title={name} />
        <Absent text="The collection does not exist, or you may not see it." />
      </section>
    )
  return <Documents collection={collection} query={query} />
}

function Documents({
  collection,
  query,
}: {
  readonly collection: DescribedCollection
  readonly query: string
}) {
  const { name, operations } = collection
  const asked = useMemo(() => readListQuery(query), [query])
  const columns = chooseColumns(collection, asked.project)
  const { rows, next, total, problem, isLive, version } = useDocuments(collection, asked)
  const show = (to: ListQuery): void =>
    go({ view: 'list', collection: name, query: writeListQuery({ ...to, after: undefined, skip: 0 }) })
  const isFiltered = writeFilter(asked) !== ''
  useReturn(rows.value !== undefined)
  return (
    <section class="list">
      <Heading title={name}>
        <span class="total" role="status">
          {total.value === undefined
            ? ''
            : count(total.value, isFiltered ? 'match' : 'document', isFiltered ? 'matches' : 'documents')}
        </span>
        {isLive.value && (
          <span class="live" title="The list updates automatically.">
            live
          </span>
        )}
        {operations.has('create') && (
          <a class="button main" href={writePlace({ view: 'new', collection: name, query: '' })}>
            Add
          </a>
        )}
      </Heading>
      <div class="bar">
        <Filters collection={collection} query={asked} onChange={show} />
        <Columns
          collection={collection}
          query={asked}
          shown={columns.map(({ path }) => path)}
          onChange={show}
        />
        <Download collection={collection} query={asked} columns={columns.map(({ path }) => path)} />
      </div>
      <Groups collection={collection} query={asked} version={version.value} onChange={show} />
      {problem.value !== '' && <Problem text={problem.value} />}
      {rows.value === undefined ? (
        problem.value === '' && <Loading />
      ) : rows.value.length === 0 ? (
        <p class="empty">
          {isFiltered ? 'Nothing matches.' : 'There are no documents that you may see.'}{' '}
          {isFiltered && <a href={writePlace({ view: 'list', collection: name, query: '' })}>Show all</a>}
        </p>
      ) : (
        <Table {...{ collection, columns, query: asked }} rows={rows.value} onSort={show} />
      )}
      <nav class="pages" aria-label="Pages">
        {(asked.after !== undefined || asked.skip > 0) && (
          <a
            href={writePlace({
              view: 'list',
              collection: name,
              query: writeListQuery({ ...asked, after: undefined, skip: 0 }),
            })}
          >
            First page
          </a>
        )}
        {next.value !== undefined && (
          <a class="button" href={writePlace({ view: 'list', collection: name, query: next.value })}>
            Next page
          </a>
        )}
      </nav>
    </section>
  )
}

/** Loads the documents of a page, and loads them again after changes. */
function useDocuments(collection: DescribedCollection, asked: ListQuery) {
  const { name, hasChanges } = collection
  const rows = useSignal<readonly ListRow[] | undefined>(undefined)
  const next = useSignal<string | undefined>(undefined)
  const total = useSignal<number | undefined>(undefined)
  const [problem, isLive, version] = [useSignal(''), useSignal(false), useSignal(0)]
  const key = writeListQuery(asked)
  const loading = useRef<AbortController>(undefined)

  async function load(why = whyHere()): Promise<void> {
    loading.current?.abort()
    loading.current = new AbortController()
    const { signal } = loading.current
    const way = { signal, ...why }
    try {
      const limit = Math.min(PAGE, collection.maxLimit ?? PAGE)
      const { value, headers } = await read(`/${name}`, {
        ...way,
        query: withReferences(collection, key, limit),
      })
      if (signal.aborted) return
      rows.value = value as readonly ListRow[]
      next.value = writeNext(asked, headers)
      problem.value = ''
      version.value++
      total.value = await countAll(name, asked, { signal, note: 'number of documents' })
    } catch (thrown) {
      if (!isAborted(thrown) && !signal.aborted) problem.value = explain(thrown)
    }
  }

  useEffect(() => {
    void load()
    return () => loading.current?.abort()
  }, [key, epoch.value])

  // If the client cannot express the filter, the stream reports all changes.
  const filter = JSON.stringify(toFilter(asked))
  useEffect(() => {
    if (!hasChanges) return
    const ending = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const follow = async (): Promise<void> => {
      const { signal } = ending
      try {
        const client = createPageClient({ note: 'changes of this list' })
        const changes = client.collection(name).changes({ q: JSON.parse(filter), signal } as never)
        for await (const _ of changes) {
          isLive.value = true
          clearTimeout(timer)
          timer = setTimeout(() => void load({ note: 'after a change' }), GATHER)
        }
      } catch {
        // The stream was rejected or has ended. The list stays as it is, without the label `live`.
      }
      isLive.value = false
    }
    void follow()
    return () => {
      ending.abort()
      clearTimeout(timer)
    }
  }, [filter, epoch.value, hasChanges])
  return { rows, next, total, problem, isLive, version }
}

/** Adds the page size of the view to a query, and `expand`, which loads the labels of references. */
function withReferences(collection: DescribedCollection, query: string, limit: number): string {
  const { project, others } = readListQuery(query)
  const shown = project ?? collection.fields.map(({ name }) => name)
  const expand = shown.filter((path) => collection.expandable.has(path))
  const own: (readonly [string, string])[] = [['limit', String(limit)]]
  if (expand.length > 0) own.push(['expand', JSON.stringify(expand)])
  // A parameter in the URL takes precedence over that of the view.
  const missing = own.filter(([name]) => others.every(([one]) => one !== name))
  return [query, joinPairs(missing)].filter(Boolean).join('&')
}
