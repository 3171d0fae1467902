import { useSignal } from '@preact/signals'
import type { SignedIn } from '../../../../client/client.js'
import type { AccountForm } from '../model/description.js'
import { draftAll, type Fault, readBody } from '../model/draft.js'
import { describeField, FORMS } from '../model/words.js'
import { type Drafts, Form } from '../parts/form.js'
import { say } from '../parts/notices.js'
import { description } from '../state/description.js'
import { go } from '../state/place.js'
import { explain, faultsOf } from '../state/problem.js'
import { ask } from '../state/service.js'
import { type Account, lost, signIn } from '../state/session.js'

interface Props {
  readonly form: AccountForm
  readonly onSubmit: (body: object) => Promise<void>
}

/** Returns the `autocomplete` attribute of a field in an account form. */
const completionOf =
  (form: string) =>
  ({ name, kind }: { readonly name: string; readonly kind: string }): string | undefined => {
    if (kind === 'secret' || name === 'current')
      return name === 'new' || form === 'register' ? 'new-password' : 'current-password'
    if (name === 'token') return 'one-time-code'
    return form === 'login' || form === 'register' ? 'username' : undefined
  }

/** An account form, created from the schema of its request body. */
function AccountFormView({ form, onSubmit }: Props) {
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

/** The forms for an anonymous person. The first one is shown by default. */
const FORMS_FOR_GUESTS = ['login', 'register', 'request-reset', 'reset', 'request-verification', 'verify']

/** Sends the body of an account form to its route. */
export async function submitAccount(name: string, body: object): Promise<void> {
  const begin = (given: unknown): void => {
    const { token, user } = given as SignedIn<Account>
    signIn({ token, user })
  }
  // A sign-in opens the view of all collections; after an expired session, the current view stays.
  const enter = (given: unknown): void => {
    if (!lost.peek()) go({ view: 'collections' })
    begin(given)
  }
  switch (name) {
    case 'login':
      enter((await ask((client) => client.auth.login(body))).value)
      return say('You are signed in.')
    case 'register': {
      const { value } = await ask((client) => client.auth.register(body as never))
      if (value) enter(value)
      return say(
        value
          ? 'Your account was created, and you are signed in.'
          : 'A message was sent to you, with a code to confirm your address.',
      )
    }
    case 'reset':
      enter((await ask((client) => client.auth.reset(body as never))).value)
      return say('Your password was changed. You are signed in.')
    case 'change-secret':
      begin((await ask((client) => client.auth.changeSecret(body as never))).value)
      return say('Your password was changed. All other sessions have ended.')
    case 'request-reset':
      await ask((client) => client.auth.requestReset(body as never))
      return say('If the account exists, a code is sent to its owner.')
    case 'request-verification':
      await ask((client) => client.auth.requestVerification(body as never))
      return say('If the account exists, a code is sent to its owner.')
    case 'change-identifier':
      await ask((client) => client.auth.changeIdentifier(body as never))
      return say('A code is sent to the new address.')
    case 'verify':
      await ask((client) => client.auth.verify(body as never))
      return say('Your address is confirmed.')
  }
}

/** The account forms, of which one is shown. */
export function AccountForms({ names = FORMS_FOR_GUESTS }: { readonly names?: readonly string[] }) {
  const known = description.value
  const there = names.filter((name) => known?.accountRoutes.has(name) && known.forms.has(name))
  const chosen = useSignal<string | undefined>(undefined)
  const open = known?.forms.get(chosen.value ?? there[0] ?? '')
  if (!open) return null
  return (
    <div class="forms">
      {there.length > 1 && (
        <div class="switch" role="group" aria-label="Forms">
          {there.map((name) => (
            <button
              key={name}
              type="button"
              class="quiet"
              aria-pressed={name === open.name}
              onClick={() => {
                chosen.value = name
              }}
            >
              {FORMS[name]?.[0] ?? name}
            </button>
          ))}
        </div>
      )}
      <AccountFormView key={open.name} form={open} onSubmit={(body) => submitAccount(open.name, body)} />
    </div>
  )
}
