import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Conflict, findConflicts, keepNewer, settle } from '../../model/conflict.js'
import type { DescribedCollection } from '../../model/description.js'
import { draftAll, type Fault, type FieldDraft, readDraft, readPatch } from '../../model/draft.js'
import { describeDone } from '../../model/ignored.js'
import type { Field } from '../../model/schema.js'
import { type Drafts, Form } from '../../parts/form.js'
import { say } from '../../parts/notices.js'
import { Value } from '../../parts/value.js'
import { collected, useRehearsal } from '../../state/collected.js'
import { explain, faultsOf, hasCode } from '../../state/problem.js'
import { type LoadedDocument, readDocument } from '../../state/read-document.js'
import { ask } from '../../state/service.js'

interface ConflictsProps {
  readonly conflicts: readonly Conflict[]
  readonly onResolve: (theirs: ReadonlySet<string>) => void
}

/** The changes of other people since the form was loaded, next to the person's own changes. */
function Conflicts({ conflicts, onResolve }: ConflictsProps) {
  const theirs = useSignal<ReadonlySet<string>>(new Set())
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const choose = (name: string, isTheirs: boolean): void => {
    const next = new Set(theirs.value)
    if (isTheirs) next.add(name)
    else next.delete(name)
    theirs.value = next
  }
  return (
    <div class="conflicts" role="group" aria-labelledby="conflicts">
      <h2 id="conflicts" tabIndex={-1} ref={heading}>
        The document has changed since you opened it
      </h2>
      <p class="hint">
        Your changes are not saved yet.{' '}
        {conflicts.length === 0
          ? 'The fields that you see are unchanged.'
          : 'Changes by others are kept. Choose a value for fields that you changed too.'}
      </p>
      {conflicts.map(({ field, was, theirs: other, mine }) => (
        <fieldset key={field.name}>
          <legend>{field.name}</legend>
          <dl>
            <div>
              <dt>old value</dt>
              <dd>
                <Drafted field={field} draft={was} />
              </dd>
            </div>
            {mine === undefined && (
              <div>
                <dt>their value</dt>
                <dd>
                  <Drafted field={field} draft={other} />
                </dd>
              </div>
            )}
          </dl>
          {mine !== undefined && (
            <div class="either">
              <label>
                <input
                  type="radio"
                  name={`conflict ${field.name}`}
                  checked={!theirs.value.has(field.name)}
                  onChange={() => choose(field.name, false)}
                />
                <span class="faint">your value</span> <Drafted field={field} draft={mine} />
              </label>
              <label>
                <input
                  type="radio"
                  name={`conflict ${field.name}`}
                  checked={theirs.value.has(field.name)}
                  onChange={() => choose(field.name, true)}
                />
                <span class="faint">their value</span> <Drafted field={field} draft={other} />
              </label>
            </div>
          )}
        </fieldset>
      ))}
      <div class="actions">
        <button type="button" class="main" onClick={() => onResolve(theirs.value)}>
          Save these values
        </button>
      </div>
    </div>
  )
}

/** A draft, displayed as the value that it means. */
function Drafted({ field, draft }: { readonly field: Field; readonly draft: FieldDraft }) {
  const { value } = readDraft(field, draft)
  return <Value field={field} value={value ?? (typeof draft === 'string' && draft ? draft : undefined)} />
}

interface Props {
  readonly collection: DescribedCollection
  readonly found: LoadedDocument
  readonly fields: readonly Field[]
  readonly reload: () => void
}

/**
 * The form for the editable fields of a document. It sends only changed fields, with the entity tag of the version on
 * which they are based.
 */
export function EditForm({ collection, found, fields, reload }: Props) {
  const { name } = collection
  const base = useSignal<LoadedDocument>(found)
  const drafts = useSignal<Drafts>(draftAll(fields, found.document))
  const faults = useSignal<readonly Fault[]>([])
  const conflicts = useSignal<readonly Conflict[] | undefined>(undefined)
  const newest = useSignal<LoadedDocument | undefined>(undefined)
  const [problem, isBusy] = [useSignal<string | undefined>(undefined), useSignal(false)]
  // `before` also contains fields that have become editable since the form was created.
  const before = draftAll(fields, base.value.document)
  const { body, faults: own } = readPatch(fields, base.value.document, drafts.value)
  const { _id: id } = base.value.document
  const isTouched = Object.keys(body).length > 0
  const hasSecret = fields.some((field) => field.kind === 'secret' && field.name in body)
  const refusal = useRehearsal(
    isTouched && own.length === 0 && !hasSecret ? { method: 'PATCH', collection: name, id, body } : undefined,
  )

  useEffect(() => {
    // A form without unsaved input shows the newest version.
    if (isTouched || own.length > 0 || found.etag === base.peek().etag) return
    base.value = found
    drafts.value = draftAll(fields, found.document)
  }, [found.etag])

  async function submit(): Promise<void> {
    const sent = drafts.value
    const patch = readPatch(fields, base.value.document, sent)
    faults.value = patch.faults
    problem.value = undefined
    if (patch.faults.length > 0 || isBusy.value || refusal !== undefined) return
    if (Object.keys(patch.body).length === 0) return say('No changes to save.')
    isBusy.value = true
    try {
      const headers = { 'if-match': base.value.etag }
      const done = await ask((client) => client.collection(name).update(id, patch.body as never), { headers })
      const stored = done.value as LoadedDocument['document']
      say(describeDone('Saved', done.headers))
      conflicts.value = undefined
      base.value = { document: stored, etag: done.headers.get('etag') ?? '' }
      drafts.value = keepNewer(sent, drafts.value, draftAll(fields, stored))
      reload()
    } catch (thrown) {
      if (hasCode(thrown, 'precondition_failed')) await compare()
      else {
        faults.value = faultsOf(thrown)
        problem.value = faults.value.length > 0 ? undefined : explain(thrown)
      }
    } finally {
      isBusy.value = false
    }
  }
  /** Loads the newest version of the document and finds the conflicts. */
  async function compare(): Promise<void> {
    try {
      const now = await readDocument(name, id, { note: 'newest version' })
      newest.value = now
      const was = draftAll(fields, base.value.document)
      conflicts.value = findConflicts(fields, {
        was,
        theirs: draftAll(fields, now.document),
        mine: { ...was, ...drafts.value },
      })
    } catch (thrown) {
      problem.value = hasCode(thrown, 'not_found')
        ? 'The document was deleted, or you may not see it any more. Your input is still here.'
        : explain(thrown)
    }
  }
  const resolve = (theirs: ReadonlySet<string>): void => {
    drafts.value = settle(conflicts.value ?? [], drafts.value, theirs)
    base.value = newest.value ?? base.value
    conflicts.value = undefined
    void submit()
  }
  const collect = (): void => {
    faults.value = own
    if (own.length > 0 || !isTouched) return
    const { etag } = base.value
    collected.value = [...collected.value, { method: 'PATCH', collection: name, id, ifMatch: etag, body }]
    say('Added to the batch. Nothing is saved yet.')
  }
  return (
    <>
      {conflicts.value && <Conflicts conflicts={conflicts.value} onResolve={resolve} />}
      <Form
        fields={fields}
        drafts={{ ...before, ...drafts.value }}
        faults={faults.value}
        problem={problem.value ?? refusal}
        onChange={(next) => {
          drafts.value = next
        }}
        onSubmit={() => void submit()}
      >
        <button type="submit" class="main" aria-disabled={isBusy.value || refusal !== undefined}>
          Save
        </button>
        {isTouched && (
          <>
            <button
              type="button"
              class="quiet"
              onClick={() => {
                drafts.value = before
                faults.value = []
              }}
            >
              Undo
            </button>
            {!hasSecret && (
              <button type="button" class="quiet" onClick={collect}>
                Save in a batch…
              </button>
            )}
          </>
        )}
      </Form>
    </>
  )
}
