import type { CallOptions } from './account-types.js'
import { pathOf } from './requests.js'
import { type ClientAnswer, isDocument, type RequestOptions, type Transport } from './transport.js'
import { only } from './write-query.js'

/** Whether a body contains a new session. Its token may be in a cookie instead. */
const isSignedIn = (body: ClientAnswer['body']): boolean => typeof body?.expiresAt === 'string'

/** Creates the calls of accounts. They set the token of the client when a session begins or ends. */
export function createAuth({ ask, state }: Transport) {
  /** Creates a call that sends a body, and that stores the token if the answer contains a new session. */
  const account =
    (way: string, isRight?: RequestOptions['isRight'], isPublic = true) =>
    async (given: unknown, asked?: CallOptions): Promise<ClientAnswer['body']> => {
      const { body } = await ask('POST', `/auth/${way}`, { ...only(asked), isPublic, isRight, body: given })
      if (!isSignedIn(body)) return
      state.token = body.token
      return { token: '', ...body }
    }

  const about = (what: string, isRight: RequestOptions['isRight']) => async (asked?: CallOptions) =>
    (await ask('GET', `/auth/${what}`, { ...only(asked), isRight })).body

  const signOut =
    (way: string) =>
    async (asked?: CallOptions): Promise<void> => {
      await ask('POST', `/auth/${way}`, only(asked))
      state.token = undefined
    }

  return {
    register: account('register', (body, status) => status === 202 || isSignedIn(body)),
    login: account('login', isSignedIn),
    logout: signOut('logout'),
    logoutAll: signOut('logout-all'),
    changeSecret: account('change-secret', isSignedIn, false),
    requestReset: account('request-reset'),
    reset: account('reset', isSignedIn),
    requestVerification: account('request-verification'),
    verify: account('verify'),
    changeIdentifier: account('change-identifier', undefined, false),
    sessions: about('sessions', Array.isArray),
    async endSession(id: string, asked?: CallOptions) {
      await ask('DELETE', `/auth/sessions${pathOf(id)}`, only(asked))
    },
    me: about('me', isDocument),
  }
}
