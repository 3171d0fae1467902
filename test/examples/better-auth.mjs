import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { createAuthenticator, readCode } from './authenticator.mjs'
import { expect } from './expect.mjs'

/** A browser on the pages of an origin: it keeps cookies, and names its origin where something changes. */
function createBrowser(origin) {
  const jar = new Map()
  const ask = async (method, address, body, headers = {}) => {
    const answer = await fetch(new URL(address, origin), {
      method,
      redirect: 'manual',
      headers: {
        cookie: [...jar].map((pair) => pair.join('=')).join('; '),
        ...(method !== 'GET' && { origin }),
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value, rest] = /^([^=]+)=([^;]*)(.*)$/.exec(line)
      if (/max-age=0/i.test(rest)) jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  /** A call of Better Auth that must do. */
  const account = async (path, body) => {
    const answer = await ask(body ? 'POST' : 'GET', `/api/auth${path}`, body)
    const said = await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${said}`)
    return JSON.parse(said || 'null')
  }
  /** The status of a list of the service, and the names in it. */
  const list = async () => {
    const answer = await ask('GET', '/api/projects')
    return answer.ok ? (await answer.json()).map(({ name }) => name) : answer.status
  }
  return { ask, account, list }
}

async function signUp(origin, name) {
  const browser = createBrowser(origin)
  const email = `${name}@example.com`
  const { user } = await browser.account('/sign-up/email', { name, email, password: 'correct horse' })
  return { ...browser, email, user }
}

/** Organisations, origins, and what ends with a membership and a session. */
async function useOrganizations(origin) {
  const [ann, bob] = [await signUp(origin, 'ann'), await signUp(origin, 'bob')]
  expect('a stranger', await createBrowser(origin).list(), 401)
  const body = { name: 'Bridge' }
  expect('without an organisation', (await ann.ask('POST', '/api/projects', body)).status, 403)
  const { id } = await ann.account('/organization/create', { name: 'Red', slug: 'red' })
  await ann.account('/organization/set-active', { organizationId: id })
  const created = await ann.ask('POST', '/api/projects', body)
  const project = await created.json()
  expect('with one', [created.status, project.organization, project.createdBy], [201, id, ann.user.id])

  for (const other of ['https://evil.example', 'null'])
    expect('from elsewhere', (await ann.ask('POST', '/api/projects', body, { origin: other })).status, 401)
  const form = { 'content-type': 'text/plain' }
  expect('as a form', (await ann.ask('POST', '/api/projects', body, form)).status, 415)

  expect('who is no member', await bob.list(), [])
  const invited = { email: bob.email, role: 'member', organizationId: id }
  const { id: invitationId } = await ann.account('/organization/invite-member', invited)
  await bob.account('/organization/accept-invitation', { invitationId })
  expect('a member', await bob.list(), ['Bridge'])
  const rename = (browser) => browser.ask('PATCH', `/api/projects/${project._id}`, { name: 'Tunnel' })
  expect('a member may not', (await rename(bob)).status, 403)
  expect('an owner may', (await rename(ann)).status, 200)
  await ann.account('/organization/remove-member', { memberIdOrEmail: bob.email, organizationId: id })
  expect('a member no longer', await bob.list(), [])
  expect('nor by what the session has chosen', (await bob.ask('POST', '/api/projects', body)).status, 403)
  await ann.account('/sign-out', {})
  expect('signed out', await ann.list(), 401)
}

async function usePasskey(origin) {
  const { account, list } = await signUp(origin, 'pam')
  const key = createAuthenticator(origin)
  const creation = await account('/passkey/generate-register-options')
  await account('/passkey/verify-registration', { response: key.create(creation), name: 'Key' })
  await account('/sign-out', {})
  expect('before the passkey', await list(), 401)
  const request = await account('/passkey/generate-authenticate-options')
  await account('/passkey/verify-authentication', { response: key.get(request) })
  expect('by a passkey', await list(), [])
}

async function useTwoFactors(origin) {
  const { account, list, email } = await signUp(origin, 'tom')
  const { totpURI } = await account('/two-factor/enable', { password: 'correct horse' })
  await account('/two-factor/verify-totp', { code: readCode(totpURI) })
  await account('/sign-out', {})
  await account('/sign-in/email', { email, password: 'correct horse' })
  expect('one factor of two', await list(), 401)
  await account('/two-factor/verify-totp', { code: readCode(totpURI) })
  expect('both', await list(), [])
}

/** A provider of OpenID Connect, as far as one account needs it. */
export async function startProvider() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const part = (object) => Buffer.from(JSON.stringify(object)).toString('base64url')
  const write = (claims) => {
    const signed = `${part({ alg: 'ES256', kid: 'one' })}.${part(claims)}`
    const signature = sign('sha256', signed, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${signature.toString('base64url')}`
  }
  const account = { sub: '7', email: 'olga@example.com', email_verified: true, name: 'Olga' }
  const answers = {
    '/.well-known/openid-configuration': (_, issuer) => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      id_token_signing_alg_values_supported: ['ES256'],
    }),
    '/keys': () => ({
      keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' }],
    }),
    // The code holds what the token repeats.
    '/token': (body, iss) => {
      const [aud, nonce] = JSON.parse(Buffer.from(new URLSearchParams(body).get('code'), 'base64url'))
      const now = Math.floor(Date.now() / 1000)
      const id_token = write({ ...account, iss, aud, nonce, iat: now, exp: now + 60 })
      return { access_token: 'an access token', token_type: 'Bearer', expires_in: 60, id_token }
    },
  }
  const server = createServer(async (request, response) => {
    const issuer = `http://localhost:${server.address().port}`
    const { pathname, searchParams } = new URL(request.url, issuer)
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri'))
      back.searchParams.set('code', part([searchParams.get('client_id'), searchParams.get('nonce')]))
      back.searchParams.set('state', searchParams.get('state'))
      response.writeHead(302, { location: back.href }).end()
      return
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers[pathname](await text(request), issuer)))
  }).listen(0, 'localhost')
  await once(server, 'listening')
  return { issuer: `http://localhost:${server.address().port}`, stop: () => server.close() }
}

async function useProvider(origin) {
  const { ask, account, list } = createBrowser(origin)
  const { url } = await account('/sign-in/social', { provider: 'company', callbackURL: '/' })
  const agreed = await ask('GET', url)
  await ask('GET', agreed.headers.get('location'))
  expect('by a provider', await list(), [])
  expect('whose account it is', (await account('/get-session')).user.email, 'olga@example.com')
}

/** What examples/better-auth.ts promises, by Express and by Hono. */
export async function useBetterAuth(origin) {
  await useOrganizations(origin)
  await usePasskey(origin)
  await useTwoFactors(origin)
  await useProvider(origin)
}
