import { computed, signal } from '@preact/signals'

/** An account, as its owner may read it. */
export interface Account {
  readonly _id: string
  readonly [field: string]: unknown
}

const KEY = `collection-service:${location.pathname}`

/** The token of this tab; removed at sign-out, and when the service rejects it. */
export const token = signal<string | undefined>(readToken())

/** The signed-in account; `undefined` without one, or while it is loading. */
export const account = signal<Account | undefined>(undefined)

/** The account of a session that has expired: its input is kept until it signs in again. */
export const lost = signal<{ readonly account: Account | undefined } | undefined>(undefined)

/** Changes with every sign-in and sign-out: documents that were shown before may be hidden now. */
export const epoch = signal(0)

/** The account that the tab belongs to, also while it has to sign in again. */
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

/** Ends the session: at sign-out, or when a person continues without an account. */
export function signOut(): void {
  keepToken(undefined)
  account.value = undefined
  lost.value = undefined
  epoch.value++
}

/** Called when the service rejects a token. */
export function loseSession(used: string | undefined): void {
  if (used === undefined || used !== token.peek()) return
  keepToken(undefined)
  lost.value = { account: account.peek() }
}
