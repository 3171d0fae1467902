import type { CollectionOperation, DescribedCollection } from '../model/description.js'
import { writePlace } from '../model/place.js'
import { Heading, useReturn } from '../parts/heading.js'
import { Absent } from '../parts/notices.js'
import { description } from '../state/description.js'
import { account } from '../state/session.js'

const SHOWN: readonly CollectionOperation[] = ['read', 'create', 'update', 'delete']

/** The list of collections, with the permissions of this caller. */
export function CollectionsView() {
  const known = description.value
  const all = [...(known?.collections.values() ?? [])]
  useReturn(true)
  return (
    <section>
      <Heading title="Collections" />
      {all.length === 0 && (
        <Absent
          text={`There is no collection that you may see${account.value ? '' : ' without signing in'}.`}
        />
      )}
      {!account.value && known?.accountRoutes.has('login') && (
        <p class="hint">
          You are not signed in.{' '}
          <a href="#/account">Sign in{known.accountRoutes.has('register') ? ' or register' : ''}</a> to see
          your collections.
        </p>
      )}
      <ul class="cards">
        {all.map((collection) => (
          <Card key={collection.name} collection={collection} />
        ))}
      </ul>
    </section>
  )
}

/** The labels of the operations. */
const RIGHTS: { readonly [operation in CollectionOperation]: string } = {
  list: 'see',
  read: 'open',
  create: 'add',
  update: 'change',
  delete: 'delete',
}

function Card({ collection }: { readonly collection: DescribedCollection }) {
  const { name, operations, fields, hasChanges } = collection
  const canList = operations.has('list')
  const rights = SHOWN.filter((operation) => operations.has(operation) && (operation !== 'read' || canList))
  const own = fields.filter((field) => !/^(?:_id|createdAt|updatedAt|createdBy)$/.test(field.name))
  return (
    <li>
      <h2>
        {canList ? <a href={writePlace({ view: 'list', collection: name, query: '' })}>{name}</a> : name}
        {hasChanges && <span class="live">live</span>}
      </h2>
      <p class="names">{own.map((field) => field.name).join(', ')}</p>
      <p class="rights">
        you may {rights.map((operation) => (operation === 'read' ? 'see' : RIGHTS[operation])).join(', ')}
      </p>
      {operations.has('create') && (
        <a
          class="button"
          href={writePlace({ view: 'new', collection: name, query: '' })}
          aria-label={`Add to ${name}`}
        >
          Add
        </a>
      )}
    </li>
  )
}
