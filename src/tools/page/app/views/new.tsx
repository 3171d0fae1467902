import { useSignal } from '@preact/signals'
import type { DescribedCollection } from '../model/description.js'
import { draftAll, type Fault, readBody } from '../model/draft.js'
import { describeDone } from '../model/ignored.js'
import { writePlace } from '../model/place.js'
import { type Drafts, Form } from '../parts/form.js'
import { Heading } from '../parts/heading.js'
import { Absent, say } from '../parts/notices.js'
import { collected, createId, useRehearsal } from '../state/collected.js'
import { description } from '../state/description.js'
import { go } from '../state/place.js'
import { explain, faultsOf } from '../state/problem.js'
import { ask } from '../state/service.js'

interface Props {
  readonly name: string
  /** Initial values by field, as a query string. */
  readonly query: string
}

/** The view with the form for a new document. */
export function NewView({ name, query }: Props) {
  const collection = description.value?.collections.get(name)
  return collection?.operations.has('create') ? (
    <NewForm collection={collection} query={query} />
  ) : (
    <section>
      <Heading title={name} />
      <Absent text="You may not add anything here." />
    </section>
  )
}

function NewForm({
  collection,
  query,
}: {
  readonly collection: DescribedCollection
  readonly query: string
}) {
  const { name, createFields: fields, operations } = collection
  const given = Object.fromEntries(new URLSearchParams(query))
  const drafts = useSignal<Drafts>(draftAll(fields, given))
  const faults = useSignal<readonly Fault[]>([])
  const [problem, isBusy] = [useSignal<string | undefined>(undefined), useSignal(false)]
  const { body, faults: own } = readBody(fields, drafts.value)
  const hasSecret = fields.some(({ kind }) => kind === 'secret')
  const refusal = useRehearsal(
    own.length === 0 && !hasSecret ? { method: 'POST', collection: name, id: undefined, body } : undefined,
  )

  async function submit(): Promise<void> {
    faults.value = own
    problem.value = undefined
    if (own.length > 0 || isBusy.value || refusal !== undefined) return
    isBusy.value = true
    try {
      const { value, headers } = await ask((client) => client.collection(name).create(body as never))
      const { _id: id } = value as { readonly _id: string }
      say(describeDone('Added', headers))
      go(
        operations.has('read')
          ? { view: 'document', collection: name, id }
          : { view: 'list', collection: name, query: '' },
        true,
      )
    } catch (thrown) {
      faults.value = faultsOf(thrown)
      problem.value = faults.value.length > 0 ? undefined : explain(thrown)
    } finally {
      isBusy.value = false
    }
  }
  const collect = (): void => {
    faults.value = own
    if (own.length > 0) return
    collected.value = [...collected.value, { method: 'PUT', collection: name, id: createId(), body }]
    say('Added to the batch. Nothing is saved yet.')
    drafts.value = draftAll(fields, given)
  }
  return (
    <section class="narrow">
      <Heading title={`Add to ${name}`} />
      <Form
        fields={fields}
        drafts={drafts.value}
        faults={faults.value}
        problem={problem.value ?? refusal}
        onChange={(next) => {
          drafts.value = next
        }}
        onSubmit={() => void submit()}
      >
        <button type="submit" class="main" aria-disabled={isBusy.value || refusal !== undefined}>
          Add
        </button>
        {operations.has('list') && (
          <a class="button quiet" href={writePlace({ view: 'list', collection: name, query: '' })}>
            Cancel
          </a>
        )}
        {/* A batch creates documents under a chosen _id, which an account cannot have. */}
        {!hasSecret && name !== 'users' && (
          <button type="button" class="quiet" onClick={collect}>
            Add in a batch…
          </button>
        )}
      </Form>
    </section>
  )
}
