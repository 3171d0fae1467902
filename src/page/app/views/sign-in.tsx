import { useSignal } from '@preact/signals'
import type { SignedIn } from '../../../client/client.js'
import { FORMS } from '../model/words.js'
import { say } from '../parts/notices.js'
import { description } from '../state/description.js'
import { go } from '../state/place.js'
import { ask } from '../state/service.js'
import { type Account, account, lost, signIn } from '../state/session.js'
import { AccountFormView } from './account-form.js'

/** The forms for who is not signed in, the usual one first. */
const FORMS_FOR_GUESTS = ['login', 'register', 'request-reset', 'reset', 'request-verification', 'verify']

/** What each form of the accounts asks for. */
export async function submitAccount(name: string, body: object): Promise<void> {
  const begin = (given: unknown): void => {
    const { token, user } = given as SignedIn<Account>
    signIn({ token, user })
  }
  // A newcomer sees what there is; who comes back goes on at the same place.
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
          ? 'Your account is there, and you are signed in.'
          : 'Look for a message: it has a code to confirm that the address is yours.',
      )
    }
    case 'reset':
      enter((await ask((client) => client.auth.reset(body as never))).value)
      return say('The new password holds. You are signed in.')
    case 'change-secret':
      begin((await ask((client) => client.auth.changeSecret(body as never))).value)
      return say('The new password holds. All other sessions have ended.')
    case 'request-reset':
      await ask((client) => client.auth.requestReset(body as never))
      return say('If there is such an account, a code goes to its owner.')
    case 'request-verification':
      await ask((client) => client.auth.requestVerification(body as never))
      return say('If there is such an account, a code goes to its owner.')
    case 'change-identifier':
      await ask((client) => client.auth.changeIdentifier(body as never))
      return say('A code is on its way to the new address.')
    case 'verify':
      await ask((client) => client.auth.verify(body as never))
      return say('Thank you: the address is confirmed.')
  }
}

/** Forms of the accounts, one of them open. */
export function AccountForms({ names = FORMS_FOR_GUESTS }: { readonly names?: readonly string[] }) {
  const known = description.value
  const there = names.filter((name) => known?.accountRoutes.has(name) && known.forms.has(name))
  const chosen = useSignal<string | undefined>(undefined)
  const open = known?.forms.get(chosen.value ?? there[0] ?? '')
  if (!open) return null
  return (
    <div class="forms">
      {there.length > 1 && (
        <div class="switch" role="group" aria-label="What to do">
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

/** The name of an account: what one signs in with. */
export function accountName(): string {
  const fields = description.value?.forms.get('login')?.fields ?? []
  const named = fields.find(({ kind }) => kind !== 'secret')
  const value = named && account.value?.[named.name]
  return typeof value === 'string' ? value : 'Your account'
}
