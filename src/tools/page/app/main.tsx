import { effect } from '@preact/signals'
import { render } from 'preact'
import { writePlace } from './model/place.js'
import { describeStatus } from './model/words.js'
import { Dialog } from './parts/dialog.js'
import { Loading, Notices, Problem } from './parts/notices.js'
import { Text } from './parts/value.js'
import { collected } from './state/collected.js'
import { description, failure, learn } from './state/description.js'
import { followAddress, place } from './state/place.js'
import { requests } from './state/requests.js'
import { account, epoch, lost, owner, signOut } from './state/session.js'
import { AccountView } from './views/account.js'
import { CollectionsView } from './views/collections.js'
import { DocumentView } from './views/document.js'
import { ListView } from './views/list.js'
import { NewView } from './views/new.js'
import { kindOfStatus, legible, RequestsView } from './views/requests.js'
import { AccountForms } from './views/sign-in.js'
import { Tray } from './views/tray.js'

/**
 * The current view. Its key contains the owner of the tab, so another person gets a new view without the previous
 * person's input.
 */
function View() {
  const here = place.value
  const key = owner.value
  switch (here.view) {
    case 'account':
      return <AccountView key={key} />
    case 'requests':
      return <RequestsView key={key} />
    case 'list':
      return <ListView key={`${key} ${here.collection}`} name={here.collection} query={here.query} />
    case 'new':
      return (
        <NewView key={`${key} ${here.collection} ${here.query}`} name={here.collection} query={here.query} />
      )
    case 'document':
      return <DocumentView key={`${key} ${here.collection} ${here.id}`} name={here.collection} id={here.id} />
    default:
      return <CollectionsView key={key} />
  }
}

function Page() {
  return (
    <>
      <button
        type="button"
        class="skip"
        onClick={() => {
          document.querySelector<HTMLElement>('main h1')?.focus()
        }}
      >
        Skip to the content
      </button>
      <Top />
      <div class="middle">
        <Side />
        <main id="main">{description.value ? <View /> : failure.value ? <Unreached /> : <Loading />}</main>
      </div>
      <Last />
      <Notices />
      {lost.value && description.value && <Lost />}
    </>
  )
}

const Unreached = () => (
  <Problem text={failure.value ?? ''}>
    <button type="button" onClick={() => void learn()}>
      Try again
    </button>
  </Problem>
)

const isHere = (view: string, collection?: string): 'page' | undefined => {
  const here = place.value
  const at = 'collection' in here ? here.collection : undefined
  return here.view === view || (collection !== undefined && at === collection)
    ? collection === undefined || at === collection
      ? 'page'
      : undefined
    : undefined
}

/** Returns the identifier of the signed-in account. */
function accountName(): string {
  const fields = description.value?.forms.get('login')?.fields ?? []
  const named = fields.find(({ kind }) => kind !== 'secret')
  const value = named && account.value?.[named.name]
  return typeof value === 'string' ? value : 'Your account'
}

function Top() {
  const known = description.value
  return (
    <header class="top">
      <a class="brand" href="#/">
        <span aria-hidden="true" class="mark" />
        {location.host}
      </a>
      <nav aria-label="Account">
        {known && known.accountRoutes.size > 0 && (
          <a href="#/account" aria-current={isHere('account')}>
            {account.value ? <Text text={accountName()} isShort /> : 'Sign in'}
          </a>
        )}
      </nav>
    </header>
  )
}

function Side() {
  const all = [...(description.value?.collections.values() ?? [])]
  return (
    <nav class="side" aria-label="Collections">
      <ul>
        <li>
          <a href="#/" aria-current={isHere('collections')}>
            Collections
          </a>
        </li>
        {all.map(({ name, operations }) => (
          <li key={name}>
            <a
              class="inner"
              href={writePlace(
                operations.has('list')
                  ? { view: 'list', collection: name, query: '' }
                  : { view: 'new', collection: name, query: '' },
              )}
              aria-current={isHere('list', name)}
            >
              {name}
            </a>
          </li>
        ))}
        <li>
          <a href="#/requests" aria-current={isHere('requests')}>
            Requests
          </a>
        </li>
      </ul>
      {collected.value.length > 0 && <Tray />}
    </nav>
  )
}

/** The footer, which shows the last request that a person caused. */
function Last() {
  // Background requests appear here only if there is no other request; the log shows all of them.
  const entry = requests.value.find(({ note }) => note === '') ?? requests.value[0]
  return (
    <footer class="last">
      <a href="#/requests">
        {entry ? (
          <>
            <span class={`dot ${kindOfStatus(entry.status)}`} aria-hidden="true" />
            <code>
              {entry.sent.method}{' '}
              <Text
                text={entry.sent.path + (entry.sent.query ? `?${legible(entry.sent.query)}` : '')}
                isShort
              />
            </code>
            <span class="faint">
              {entry.status === null
                ? 'pending'
                : `${entry.status || ''} ${describeStatus(entry.status)} · ${entry.milliseconds} ms`}
            </span>
          </>
        ) : (
          'Requests'
        )}
      </a>
    </footer>
  )
}

function Lost() {
  return (
    // The dialog hides everything else, because another person may use the device now.
    <Dialog title="Your session has ended" onClose={signOut} isAlone>
      <p>Sign in again to continue: your input is still here.</p>
      <AccountForms names={['login', 'request-reset', 'reset']} />
      <div class="actions">
        <button type="button" class="quiet" onClick={signOut}>
          Continue without signing in
        </button>
      </div>
    </Dialog>
  )
}

followAddress()
// Loads the description again when `epoch` changes, such as after a sign-in. An expired session does not change
// `epoch`, because the person must sign in again first.
effect(() => {
  void epoch.value
  void learn()
})
let last = ''
// Clears the batch and the log of requests when another person uses the tab.
effect(() => {
  const now = owner.value
  if (last !== '' && last !== now) {
    collected.value = []
    requests.value = []
  }
  last = now
})
render(<Page />, document.getElementById('app') as HTMLElement)
