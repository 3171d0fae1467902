import { computed, signal } from '@preact/signals'
import { type Description, type OpenApi, type Root, readDescription } from '../model/description.js'
import { explain } from './problem.js'
import { ask, read } from './service.js'
import { type Account, account, token } from './session.js'

/** What there is for this caller; `undefined` until it is known. */
export const description = signal<Description | undefined>(undefined)

/** The token with which it was asked for. */
const asked = signal<string | undefined>(undefined)

/** Whether it is that of somebody else, until it is known what there is for this caller. */
export const isOutdated = computed(() => asked.value !== token.value)

/** Why it is not known. */
export const failure = signal<string | undefined>(undefined)

let turn = 0

/** Asks what there is for this caller, and who that is. */
export async function learn(): Promise<void> {
  const mine = ++turn
  const used = token.peek()
  try {
    const [root, api] = await Promise.all([
      read('/', { note: 'what there is for you' }),
      read('/_openapi.json', { note: 'what it looks like' }),
    ])
    const described = readDescription(root.value as Root, api.value as OpenApi)
    const isKnown = used === undefined || account.peek() !== undefined || !described.accountRoutes.has('me')
    const me = isKnown
      ? account.peek()
      : (await ask((client) => client.auth.me(), { note: 'who you are' })).value
    // Somebody signed in or out meanwhile.
    if (mine !== turn) return
    account.value = me as Account | undefined
    description.value = described
    asked.value = used
    failure.value = undefined
  } catch (thrown) {
    if (mine !== turn) return
    // The session that was kept is over: what there is without it comes behind the question who one is.
    if (used !== undefined && token.peek() === undefined && !description.peek()) return learn()
    failure.value = explain(thrown)
  }
}
