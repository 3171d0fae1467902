import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { DescribedCollection } from '../model/description.js'
import { isSystem, labelOf } from '../model/labels.js'
import { writePlace } from '../model/place.js'
import type { Field } from '../model/schema.js'
import { Heading } from '../parts/heading.js'
import { Absent, Loading, Problem } from '../parts/notices.js'
import { Value } from '../parts/value.js'
import { description } from '../state/description.js'
import { whyHere } from '../state/place.js'
import { explain, isAborted } from '../state/problem.js'
import { type LoadedDocument, readDocument } from '../state/read-document.js'
import { findRights, NO_RIGHTS, type Rights } from '../state/rights.js'
import { read } from '../state/service.js'
import { epoch } from '../state/session.js'
import { Deleting } from './document/deleting.js'
import { EditForm } from './document/edit-form.js'
import { Related } from './document/related.js'

/** One document: its editable fields as a form, the others beside it. */
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
      // The footer shows the last action: after a change, the change and not this request.
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
            // Changes of others appear as conflicts, and never replace input.
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
