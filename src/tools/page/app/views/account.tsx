import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SessionView } from '../../../../client/client.js'
import { describeTime, describeValue } from '../model/text.js'
import { Heading } from '../parts/heading.js'
import { Problem, say } from '../parts/notices.js'
import { Text } from '../parts/value.js'
import { description } from '../state/description.js'
import { explain } from '../state/problem.js'
import { ask } from '../state/service.js'
import { account, signOut } from '../state/session.js'
import { AccountForms } from './sign-in.js'

const FORMS_FOR_USERS = ['change-secret', 'change-identifier', 'verify']

/** The account of this person, with its sessions and forms. */
export function AccountView() {
  if (!account.value)
    return (
      <section class="narrow">
        <Heading title="Your account" />
        <p class="hint">Your rights depend on your account.</p>
        <AccountForms />
      </section>
    )
  return (
    <section class="narrow">
      <Heading title="Your account" />
      <dl class="facts">
        {Object.entries(account.value).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Text text={/At$/.test(name) ? describeTime(String(value)) : describeValue(value)} />
            </dd>
          </div>
        ))}
      </dl>
      <Leaving />
      {description.value?.accountRoutes.has('sessions') && <Sessions />}
      <h2>Password and address</h2>
      <AccountForms names={FORMS_FOR_USERS} />
    </section>
  )
}

function Leaving() {
  const problem = useSignal('')
  const leave = async (everywhere: boolean): Promise<void> => {
    try {
      await ask((client) => (everywhere ? client.auth.logoutAll() : client.auth.logout()))
      signOut()
      say('You are signed out.')
    } catch (thrown) {
      problem.value = explain(thrown)
    }
  }
  return (
    <div class="actions">
      <button type="button" onClick={() => void leave(false)}>
        Sign out
      </button>
      <button type="button" class="quiet" onClick={() => void leave(true)}>
        Sign out everywhere
      </button>
      {problem.value && <Problem text={problem.value} />}
    </div>
  )
}

function Sessions() {
  const [sessions, problem] = [useSignal<readonly SessionView[]>([]), useSignal('')]
  const load = async (): Promise<void> => {
    try {
      sessions.value = (await ask((client) => client.auth.sessions(), { note: 'your sessions' })).value
    } catch (thrown) {
      problem.value = explain(thrown)
    }
  }
  const end = async (id: string): Promise<void> => {
    try {
      await ask((client) => client.auth.endSession(id))
      say('The session has ended.')
    } catch (thrown) {
      problem.value = explain(thrown)
    }
    await load()
  }
  useEffect(() => void load(), [])
  return (
    <>
      <h2>Sessions</h2>
      {problem.value && <Problem text={problem.value} />}
      <ul class="rows">
        {sessions.value.map(({ _id, createdAt, expiresAt, isCurrent }) => (
          <li key={_id}>
            <span>
              since {describeTime(createdAt)} <span class="faint">until {describeTime(expiresAt)}</span>
            </span>
            {isCurrent ? (
              <span class="choice">this session</span>
            ) : (
              <button
                type="button"
                class="quiet"
                aria-label={`End the session since ${describeTime(createdAt)}`}
                onClick={() => void end(_id)}
              >
                End
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}
