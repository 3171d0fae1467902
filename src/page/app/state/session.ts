import { computed, signal } from '@preact/signals'

/** An account, as its owner may read it. */
export interface Account {
  readonly _id: string
  readonly [field: string]: unknown
}

const KEY = `collection-service:${location.pathname}`

/** The token of this tab; it goes at sign-out, and when the service does not know it. */
export const token = signal<string | undefined>(readToken())

/** Who is signed in; `undefined` for nobody, or while that is being asked. */
export const account = signal<Account | undefined>(undefined)

/** Who was signed in when a session ended by itself: the page waits for them, with what they wrote. */
export const lost = signal<{ readonly account: Account | undefined } | undefined>(undefined)

/** Changes whenever somebody signs in or out: what was shown before may be shown no longer. */
export const epoch = signal(0)

/** Whose page it is. While it waits for somebody to sign in again, it stays theirs. */
export const owner = computed(() => (lost.value?.account ?? account.value)?._id ?? '')

/** Storage may be forbidden: then a reload ends the session of the tab. */
function readToken(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined
  } catch {
    return undefined
  }
}

function keepToken(value: string | undefined): void {
  token.value = value
  try {
    if (value === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, value)
  } catch {}
}

/** Begins a session. */
export function signIn(given: { readonly token: string; readonly user: Account }): void {
  keepToken(given.token)
  account.value = given.user
  lost.value = undefined
  epoch.value++
}

/** Ends it: asked for, or because one goes on without an account. */
export function signOut(): void {
  keepToken(undefined)
  account.value = undefined
  lost.value = undefined
  epoch.value++
}

/** The service has said that a token does not count any more. */
export function loseSession(used: string | undefined): void {
  if (used === undefined || used !== token.peek()) return
  keepToken(undefined)
  lost.value = { account: account.peek() }
}
