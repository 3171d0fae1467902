import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { chooseColumns } from '../model/columns.js'
import type { DescribedCollection } from '../model/description.js'
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
import { Absent, Loading, Problem } from '../parts/notices.js'
import { description } from '../state/description.js'
import { go, whyHere } from '../state/place.js'
import { explain, isAborted } from '../state/problem.js'
import { countAll, createPageClient, read } from '../state/service.js'
import { epoch } from '../state/session.js'
import { Columns } from './list/columns.js'
import { Download } from './list/download.js'
import { Facets } from './list/facets.js'
import { Filters } from './list/filters.js'
import { Table } from './list/table.js'

/** A document of a list. */
export interface ListRow {
  readonly _id: string
  readonly [field: string]: unknown
}

const PAGE = 25

/** The milliseconds for which changes are collected before the list reloads. */
const GATHER = 150

interface Props {
  readonly name: string
  /** The query string of the API. */
  readonly query: string
}

/** The list of a collection's documents. */
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
      <Facets collection={collection} query={asked} version={version.value} onChange={show} />
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

/** Loads the documents of a page, and reloads them after changes. */
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

  // If the client cannot express the filter, the stream covers all changes.
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
        // Rejected, or over: the list stays as it is, without the label `live`.
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

/** The same query with the limit of the view, and with the labels of references. */
function withReferences(collection: DescribedCollection, query: string, limit: number): string {
  const { project, others } = readListQuery(query)
  const shown = project ?? collection.fields.map(({ name }) => name)
  const expand = shown.filter((path) => collection.expandable.has(path))
  const own: (readonly [string, string])[] = [['limit', String(limit)]]
  if (expand.length > 0) own.push(['expand', JSON.stringify(expand)])
  // Parameters of the URL take precedence.
  const missing = own.filter(([name]) => others.every(([one]) => one !== name))
  return [query, joinPairs(missing)].filter(Boolean).join('&')
}
