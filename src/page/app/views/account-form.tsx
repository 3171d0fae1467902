import { useSignal } from '@preact/signals'
import type { AccountForm } from '../model/description.js'
import { draftAll, type Fault, readBody } from '../model/draft.js'
import { describeField, FORMS } from '../model/words.js'
import { type Drafts, Form } from '../parts/form.js'
import { explain, faultsOf } from '../state/problem.js'

interface Props {
  readonly form: AccountForm
  readonly onSubmit: (body: object) => Promise<void>
}

/** The autocomplete attributes of account fields. */
const completionOf =
  (form: string) =>
  ({ name, kind }: { readonly name: string; readonly kind: string }): string | undefined => {
    if (kind === 'secret' || name === 'current')
      return name === 'new' || form === 'register' ? 'new-password' : 'current-password'
    if (name === 'token') return 'one-time-code'
    return form === 'login' || form === 'register' ? 'username' : undefined
  }

/** An account form, created from the schema of its body. */
export function AccountFormView({ form, onSubmit }: Props) {
  const drafts = useSignal<Drafts>(draftAll(form.fields))
  const faults = useSignal<readonly Fault[]>([])
  const [problem, isBusy] = [useSignal<string | undefined>(undefined), useSignal(false)]
  const [, button = 'Send', about] = FORMS[form.name] ?? [form.name]

  async function submit(): Promise<void> {
    const read = readBody(form.fields, drafts.value)
    faults.value = read.faults
    problem.value = undefined
    if (read.faults.length > 0 || isBusy.value) return
    isBusy.value = true
    try {
      await onSubmit(read.body)
      drafts.value = draftAll(form.fields)
    } catch (thrown) {
      faults.value = faultsOf(thrown)
      problem.value = faults.value.length > 0 ? undefined : explain(thrown)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <>
      {about && <p class="hint">{about}</p>}
      <Form
        fields={form.fields}
        drafts={drafts.value}
        faults={faults.value}
        problem={problem.value}
        onChange={(next) => {
          drafts.value = next
        }}
        onSubmit={() => void submit()}
        autocomplete={completionOf(form.name)}
        labelOf={(field) => describeField(form.name, field)}
      >
        <button type="submit" class="main" aria-disabled={isBusy.value}>
          {button}
        </button>
      </Form>
    </>
  )
}
