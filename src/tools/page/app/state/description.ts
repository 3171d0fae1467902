import { computed, signal } from '@preact/signals'
import { type Description, type OpenApi, type Root, readDescription } from '../model/description.js'
import { explain } from './problem.js'
import { ask, read } from './service.js'
import { type Account, account, token } from './session.js'

/** The description of the service for this caller; `undefined` until it is loaded. */
export const description = signal<Description | undefined>(undefined)

/** The token with which the current description was loaded. */
const asked = signal<string | undefined>(undefined)

/** Whether the description still belongs to the previous caller, because the new one is not loaded yet. */
export const isOutdated = computed(() => asked.value !== token.value)

/** The error message if the description cannot be loaded. */
export const failure = signal<string | undefined>(undefined)

let turn = 0

/** Loads the description and the account of this caller. */
export async function learn(): Promise<void> {
  const mine = ++turn
  const used = token.peek()
  try {
    const [root, api] = await Promise.all([
      read('/', { note: 'your collections' }),
      read('/_openapi.json', { note: 'API description' }),
    ])
    const described = readDescription(root.value as Root, api.value as OpenApi)
    const isKnown = used === undefined || account.peek() !== undefined || !described.accountRoutes.has('me')
    const me = isKnown
      ? account.peek()
      : (await ask((client) => client.auth.me(), { note: 'your account' })).value
    // Another call of `learn` has started during the requests.
    if (mine !== turn) return
    account.value = me as Account | undefined
    description.value = described
    asked.value = used
    failure.value = undefined
  } catch (thrown) {
    if (mine !== turn) return
    // The stored session has expired, so the description is loaded again without it.
    if (used !== undefined && token.peek() === undefined && !description.peek()) return learn()
    failure.value = explain(thrown)
  }
}
