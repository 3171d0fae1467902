import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { DescribedCollection } from '../model/description.js'
import { isSystem, labelOf } from '../model/labels.js'
import { EMPTY_QUERY, writeListQuery } from '../model/list-query.js'
import { writePlace } from '../model/place.js'
import type { Field } from '../model/schema.js'
import { Dialog } from '../parts/dialog.js'
import { Heading } from '../parts/heading.js'
import { Absent, Loading, Problem, say } from '../parts/notices.js'
import { Value } from '../parts/value.js'
import { collected } from '../state/collected.js'
import { description } from '../state/description.js'
import { go, whyHere } from '../state/place.js'
import { explain, hasCode, isAborted } from '../state/problem.js'
import { type LoadedDocument, readDocument } from '../state/read-document.js'
import { ask, type PageCollection, read } from '../state/service.js'
import { epoch } from '../state/session.js'
import { EditForm } from './document/edit-form.js'

/** The permissions on one document. */
interface Rights {
  readonly update: boolean
  readonly delete: boolean
}

const NO_RIGHTS: Rights = { update: false, delete: false }

/**
 * An entity tag that no document has, so that a change never takes effect. If the caller may make the change, the
 * answer is 412.
 */
const NEVER = { 'if-match': '"-"' }

/**
 * Checks which changes of a document are allowed. Rules may depend on its values, so the permissions on the collection
 * are not enough. The requests cannot take effect. Because permissions are checked before conditions (CONTRACT.md §2,
 * "Order of faults"), each answer shows whether the change is allowed.
 */
async function findRights(name: string, id: string, may: Rights, signal: AbortSignal): Promise<Rights> {
  const isAllowed = async (
    isOffered: boolean,
    note: string,
    change: (documents: PageCollection) => Promise<unknown>,
  ): Promise<boolean> => {
    if (!isOffered) return false
    try {
      await ask((client) => change(client.collection(name)), { headers: NEVER, signal, isQuiet: true, note })
    } catch (thrown) {
      // After any other error, the button is offered.
      return !hasCode(thrown, 'unauthenticated', 'forbidden', 'not_found')
    }
    return true
  }
  const [update, remove] = await Promise.all([
    isAllowed(may.update, 'dry run: may you change it?', (documents) => documents.update(id, {}, { signal })),
    isAllowed(may.delete, 'may you delete it? (dry run)', (documents) => documents.delete(id, { signal })),
  ])
  return { update, delete: remove }
}

/**
 * For each reference to this collection, a link to the list of documents that refer to this document, and a link to the
 * form for a new one.
 */
function Related({ collection, id }: { readonly collection: DescribedCollection; readonly id: string }) {
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

interface Props {
  readonly name: string
  readonly label: string
  readonly found: LoadedDocument
  readonly reload: () => void
}

/** The button that deletes a document, with its dialog. */
function Deleting({ name, label, found, reload }: Props) {
  const [isAsking, problem, isBusy] = [useSignal(false), useSignal(''), useSignal(false)]
  const { document, etag } = found
  const leave = (): void => {
    isAsking.value = false
    problem.value = ''
  }
  async function remove(): Promise<void> {
    if (isBusy.value) return
    isBusy.value = true
    try {
      await ask((client) => client.collection(name).delete(document._id), { headers: { 'if-match': etag } })
      leave()
      say('Deleted.')
      go({ view: 'list', collection: name, query: '' }, true)
    } catch (thrown) {
      problem.value = explain(thrown)
      if (hasCode(thrown, 'precondition_failed')) {
        problem.value = 'The document has changed since you opened it. Check it again.'
        reload()
      }
    } finally {
      isBusy.value = false
    }
  }
  const collect = (): void => {
    collected.value = [
      ...collected.value,
      { method: 'DELETE', collection: name, id: document._id, ifMatch: etag },
    ]
    leave()
    say('Added to the batch. Nothing is deleted yet.')
  }
  return (
    <>
      <button
        type="button"
        class="quiet danger"
        onClick={() => {
          isAsking.value = true
        }}
      >
        Delete
      </button>
      {isAsking.value && (
        <Dialog title="Delete this document?" onClose={leave}>
          <p>
            <bdi>{label.slice(0, 200)}</bdi> will be deleted. This cannot be undone.
          </p>
          {problem.value && <Problem text={problem.value} />}
          <div class="actions">
            <button
              type="button"
              class="danger main"
              aria-disabled={isBusy.value}
              onClick={() => void remove()}
            >
              Delete
            </button>
            <button type="button" onClick={leave}>
              Cancel
            </button>
            <button type="button" class="quiet" onClick={collect}>
              Delete in a batch…
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

/** The view of one document: a form with the editable fields, and a list of the other fields. */
export function DocumentView({ name, id }: { readonly name: string; readonly id: string }) {
  const collection = description.value?.collections.get(name)
  return collection?.operations.has('read') ? (
    <Present collection={collection} id={id} />
  ) : (
    <section>
      <Heading title={name} />
      <Absent text="The document does not exist, or you may not see it." />
    </section>
  )
}

function useDocument(
  { name, operations, updateFields, expandable, fields }: DescribedCollection,
  id: string,
) {
  const present = useSignal<LoadedDocument | undefined>(undefined)
  const expanded = useSignal<object>({})
  const rights = useSignal<Rights | undefined>(undefined)
  const [problem, version] = [useSignal(''), useSignal(0)]
  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    const load = async (): Promise<void> => {
      // After a change, this request is marked as a background request, so that the footer shows the change.
      const why = version.peek() > 0 ? { note: 'after a change' } : whyHere()
      const found = await readDocument(name, id, { signal, ...why })
      const may = {
        update: operations.has('update') && updateFields.length > 0,
        delete: operations.has('delete'),
      }
      const granted = may.update || may.delete ? findRights(name, id, may, signal) : NO_RIGHTS
      const names = fields
        .map((field) => field.name)
        .filter((one) => expandable.has(one) && found.document[one] != null)
      const query = `project=${encodeURIComponent(JSON.stringify(names))}&expand=${encodeURIComponent(JSON.stringify(names))}`
      const with_ =
        names.length > 0 ? read(`/${name}/${id}`, { query, signal, note: 'names of references' }) : undefined
      const [rights_, references] = await Promise.all([granted, with_])
      if (signal.aborted) return
      present.value = found
      expanded.value = (references?.value ?? {}) as object
      rights.value = rights_
      problem.value = ''
    }
    load().catch((thrown) => {
      if (!isAborted(thrown) && !signal.aborted) problem.value = explain(thrown)
    })
    return () => ending.abort()
  }, [version.value, epoch.value])
  const reload = (): void => {
    version.value++
  }
  return { present, expanded, rights, problem, reload }
}

function Present({ collection, id }: { readonly collection: DescribedCollection; readonly id: string }) {
  const { name, fields, updateFields, operations } = collection
  const { present, expanded, rights, problem, reload } = useDocument(collection, id)
  const found = present.value
  const back = operations.has('list') && (
    <a class="back" href={writePlace({ view: 'list', collection: name, query: '' })}>
      {name}
    </a>
  )
  if (!found)
    return (
      <section>
        <Heading title={name}>{back}</Heading>
        {problem.value ? <Problem text={problem.value} /> : <Loading />}
      </section>
    )
  const label = labelOf(collection, found.document)
  const shown = { ...found.document, ...expanded.value }
  const editable = rights.value?.update ? updateFields : []
  const names = new Set(editable.map((field) => field.name))
  const own = fields.filter((field) => !names.has(field.name) && !isSystem(field.name))
  const system = fields.filter((field) => isSystem(field.name))
  return (
    <section class="document">
      <Heading title={<bdi>{label.slice(0, 120)}</bdi>} name={label.slice(0, 120)}>
        {back}
        {rights.value?.delete && <Deleting {...{ name, label, found, reload }} />}
      </Heading>
      {problem.value && <Problem text={problem.value} />}
      <div class="sheetwise">
        <div>
          {editable.length > 0 && (
            // The form shows changes of others as conflicts, and never replaces input.
            <EditForm {...{ collection, found, reload }} fields={editable} />
          )}
          {own.length > 0 && <Facts fields={own} values={shown} />}
        </div>
        <aside aria-label="About this document">
          <Facts fields={system} values={shown} />
          <Related collection={collection} id={id} />
        </aside>
      </div>
    </section>
  )
}

function Facts({ fields, values }: { readonly fields: readonly Field[]; readonly values: object }) {
  const own = values as { readonly [name: string]: unknown }
  return (
    <dl class="facts">
      {fields.map((field) => (
        <div key={field.name}>
          <dt>{field.name}</dt>
          <dd>
            {field.name === '_id' ? (
              <code>{String(own._id)}</code>
            ) : (
              <Value field={field} value={own[field.name]} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
