import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { countedFields, countedValues } from '../../model/columns.js'
import type { Collection } from '../../model/description.js'
import { hasEquality, type ListQuery, toFilter, toggleEquality } from '../../model/list-query.js'
import { nameOf } from '../../parts/field.js'
import { ask } from '../../state/service.js'

interface Props {
  readonly collection: Collection
  readonly query: ListQuery
  /** Changes when the documents may have. */
  readonly version: number
  readonly onChange: (query: ListQuery) => void
}

/** How many documents have each value of a field with few values: bars that filter. */
export function Facets({ collection, query, version, onChange }: Props) {
  const counts = useSignal<ReadonlyMap<string, number>>(new Map())
  const fields = countedFields(collection)
  const all = fields.flatMap((field) => countedValues(field).map((value) => ({ field, value })))
  const filter = JSON.stringify(toFilter(query))

  useEffect(() => {
    // First the documents themselves.
    if (version === 0) return
    const ending = new AbortController()
    const { signal } = ending
    const countAll = async (): Promise<void> => {
      const found = new Map<string, number>()
      for (const { field, value } of all) {
        const others = query.all.filter((one) => one.path !== field.name || one.operator !== '$eq')
        const mine = { ...query, all: [...others, { path: field.name, operator: '$eq', value }] }
        const options = { q: toFilter(mine), signal }
        const way = { signal, note: `how many have this ${field.name}` }
        const answer = await ask((client) => client.collection(collection.name).count(options as never), way)
        found.set(keyOf(field.name, value), answer.value)
      }
      counts.value = found
    }
    // Without them, there are no bars.
    countAll().catch(() => {})
    return () => ending.abort()
  }, [filter, version])

  if (all.length === 0 || counts.value.size === 0) return null
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
