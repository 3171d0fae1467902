import type { DescribedCollection } from '../../model/description.js'
import { EMPTY_QUERY, writeListQuery } from '../../model/list-query.js'
import { writePlace } from '../../model/place.js'
import { description } from '../../state/description.js'

/** Links to the lists of documents that refer to a document, and to forms for new ones. */
export function Related({
  collection,
  id,
}: {
  readonly collection: DescribedCollection
  readonly id: string
}) {
  const all = [...(description.value?.collections.values() ?? [])].flatMap((other) =>
    other.fields
      .filter(
        ({ name, target, kind }) =>
          target === collection.name &&
          kind === 'reference' &&
          name !== 'createdBy' &&
          other.filters.get(name)?.includes('$eq'),
      )
      .map(({ name }) => ({ other, name })),
  )
  if (all.length === 0) return null
  return (
    <nav class="related" aria-label="References to this document">
      <h2>References to this document</h2>
      <ul>
        {all.map(({ other, name }) => {
          const query = writeListQuery({ ...EMPTY_QUERY, all: [{ path: name, operator: '$eq', value: id }] })
          const canAdd =
            other.operations.has('create') && other.createFields.some((field) => field.name === name)
          return (
            <li key={`${other.name} ${name}`}>
              <a href={writePlace({ view: 'list', collection: other.name, query })}>
                {other.name}
                {name === collection.name.replace(/s$/, '') ? '' : ` by ${name}`}
              </a>
              {canAdd && (
                <a
                  class="quiet"
                  href={writePlace({ view: 'new', collection: other.name, query: `${name}=${id}` })}
                  aria-label={`Add to ${other.name}, with this as ${name}`}
                >
                  add
                </a>
              )}
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
