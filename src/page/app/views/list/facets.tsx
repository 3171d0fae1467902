import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { countedFields, countedValues } from '../../model/columns.js'
import type { DescribedCollection } from '../../model/description.js'
import {
  hasEquality,
  type ListQuery,
  toggleEquality,
  withEquality,
  writeFilter,
} from '../../model/list-query.js'
import { nameOf } from '../../parts/field.js'
import { countAll } from '../../state/service.js'

interface Props {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  /** Changes when the documents may have changed. */
  readonly version: number
  readonly onChange: (query: ListQuery) => void
}

/** The number of documents for each value of a field with few values, as bars that filter. */
export function Facets({ collection, query, version, onChange }: Props) {
  const counts = useSignal<ReadonlyMap<string, number>>(new Map())
  const fields = countedFields(collection)
  const all = fields.flatMap((field) => countedValues(field).map((value) => ({ field, value })))
  const filter = writeFilter(query)

  useEffect(() => {
    // The documents load first.
    if (version === 0) return
    const ending = new AbortController()
    const { signal } = ending
    const countEach = async (): Promise<void> => {
      const found = new Map<string, number>()
      for (const { field, value } of all) {
        const mine = withEquality(query, field.name, value)
        const n = await countAll(collection.name, mine, {
          signal,
          note: `number of documents by ${field.name}`,
        })
        found.set(keyOf(field.name, value), n)
      }
      counts.value = found
    }
    // Without the counts, there are no bars.
    countEach().catch(() => {})
    return () => ending.abort()
  }, [filter, version])

  // A filter that only the URL can express cannot be combined with another condition.
  if (all.length === 0 || counts.value.size === 0 || query.filter.length > 0) return null
  return (
    <div class="facets">
      {fields.map((field) => {
        const values = countedValues(field)
        const most = Math.max(1, ...values.map((value) => counts.value.get(keyOf(field.name, value)) ?? 0))
        return (
          <div key={field.name} class="facet" role="group" aria-label={`${field.name}: filter by value`}>
            <h2>{field.name}</h2>
            {values.map((value) => {
              const n = counts.value.get(keyOf(field.name, value)) ?? 0
              return (
                <button
                  key={String(value)}
                  type="button"
                  aria-pressed={hasEquality(query, field.name, value)}
                  onClick={() => onChange(toggleEquality(query, field.name, value))}
                >
                  <span class="value">{nameOf(value)}</span>
                  <span class="track" aria-hidden="true">
                    <span class="fill" style={{ width: `${(100 * n) / most}%` }} />
                  </span>
                  <span class="number">{n.toLocaleString('en')}</span>
                </button>
              )
            })}
          </div>
        )
      })}
    </div>
  )
}

const keyOf = (name: string, value: unknown): string => `${name} ${JSON.stringify(value)}`
