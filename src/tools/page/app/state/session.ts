import { computed, signal } from '@preact/signals'

/** An account as its owner may read it. */
export interface Account {
  readonly _id: string
  readonly [field: string]: unknown
}

const KEY = `collection-service:${location.pathname}`

/** The token of this tab. It is removed at sign-out, and when the service rejects it. */
export const token = signal<string | undefined>(readToken())

/** The signed-in account; `undefined` if there is none, or while it is loading. */
export const account = signal<Account | undefined>(undefined)

/** The account whose session has expired. The view keeps its input until the person signs in again. */
export const lost = signal<{ readonly account: Account | undefined } | undefined>(undefined)

/**
 * A number that changes whenever views must reload their documents: after a sign-in or sign-out, a batch, or a change
 * in another tab.
 */
export const epoch = signal(0)

/**
 * The `_id` of the account to which the tab belongs, even while its session has expired. Empty for an anonymous person.
 */
export const owner = computed(() => (lost.value?.account ?? account.value)?._id ?? '')

/**
 * Reads the token from the storage of the tab. If the browser forbids storage, the session ends when the page is
 * reloaded.
 */
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

export function signIn(given: { readonly token: string; readonly user: Account }): void {
  keepToken(given.token)
  account.value = given.user
  lost.value = undefined
  epoch.value++
}

/** Ends the session: at sign-out, or when a person continues without signing in again. */
export function signOut(): void {
  keepToken(undefined)
  account.value = undefined
  lost.value = undefined
  epoch.value++
}

/** Called when the service has rejected the token `used`. */
export function loseSession(used: string | undefined): void {
  if (used === undefined || used !== token.peek()) return
  keepToken(undefined)
  lost.value = { account: account.peek() }
}
