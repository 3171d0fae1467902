// Accounts of Better Auth (passwords, passkeys, two factors, OAuth, organisations) decide who calls. The service has
// none of its own then. To run it in Express: PORT=3000 npx tsx better-auth.ts · in Hono: HONO_PORT=3000 npx tsx …
//
// npm install better-auth@1.7.6 @better-auth/passkey@1.7.6 @better-auth/core@1.7.6
//
// @better-auth/passkey asks for exact versions of packages that newer releases of better-auth and @better-auth/core
// have left (`npm error ERESOLVE`), so all three need the version of the passkey.
import { passkey } from '@better-auth/passkey'
import { serve } from '@hono/node-server'
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { toNodeHandler as toAuthHandler } from 'better-auth/node'
import { genericOAuth, organization, twoFactor } from 'better-auth/plugins'
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import express from 'express'
import { Hono } from 'hono'

const { PORT, HONO_PORT, ISSUER, CLIENT_ID = '', CLIENT_SECRET = '' } = process.env

/** Where browsers find this application. */
const ORIGIN = process.env.ORIGIN ?? `http://localhost:${PORT ?? HONO_PORT ?? 3000}`

export const auth = betterAuth({
  baseURL: ORIGIN,
  secret: process.env.BETTER_AUTH_SECRET ?? 'change me: 32 characters at least',
  // Ends with the process. Here you would give your database: Better Auth keeps accounts in tables of its own.
  database: memoryAdapter({
    user: [],
    session: [],
    account: [],
    verification: [],
    passkey: [],
    twoFactor: [],
    organization: [],
    member: [],
    invitation: [],
  }),
  emailAndPassword: { enabled: true },
  plugins: [
    passkey({ rpID: new URL(ORIGIN).hostname, rpName: 'Projects', origin: ORIGIN }),
    twoFactor({ issuer: 'Projects' }),
    // Any provider that speaks OpenID Connect.
    genericOAuth({
      config: ISSUER
        ? [
            {
              providerId: 'company',
              discoveryUrl: `${ISSUER}/.well-known/openid-configuration`,
              clientId: CLIENT_ID,
              clientSecret: CLIENT_SECRET,
              scopes: ['openid', 'email', 'profile'],
            },
          ]
        : [],
    }),
    organization(),
  ],
})

/**
 * A cookie goes with the requests that other sites make a browser send. Browsers name the site in `Origin`, so what
 * changes something counts as signed in only where that is ours.
 */
const isOurs = ({ method, headers }: Request): boolean =>
  ['GET', 'HEAD', 'OPTIONS'].includes(method) || headers.get('origin') === ORIGIN

interface Member {
  readonly organizationId: string
  readonly role: string
}

/** The caller of a request, asked anew each time: what is signed out or removed ends at once. */
async function authenticate(request: Request) {
  const found = isOurs(request) ? await auth.api.getSession({ headers: request.headers }) : null
  if (!found) return null
  const { user, session } = found
  const { adapter } = await auth.$context
  const members = await adapter.findMany<Member>({
    model: 'member',
    where: [{ field: 'userId', value: user.id }],
    limit: 1000,
  })
  const organizations = members.map(({ organizationId }) => organizationId)
  // A role holds in its organisation alone. In `roles` it would hold in all of them.
  const administered = members
    .filter(({ role }) => role.split(',').some((name) => name === 'owner' || name === 'admin'))
    .map(({ organizationId }) => organizationId)
  // A session keeps the organisation that it has chosen, though its user may have left it since.
  const chosen = organizations.find((id) => id === session.activeOrganizationId)
  return { id: user.id, organizations, administered, ...(chosen && { organization: chosen }) }
}

const service = createCollectionService(
  {
    collections: {
      projects: {
        schema: {
          name: { type: 'string', required: true, maxLength: 80 },
          organization: { type: 'string', required: true, immutable: true, index: true },
        },
        permissions: {
          user: {
            read: { where: { organization: { $in: '$user.organizations' } } },
            create: { set: { organization: '$user.organization' } },
            update: { where: { organization: { $in: '$user.administered' } } },
            delete: { where: { organization: { $in: '$user.administered' } } },
          },
        },
      },
    },
  },
  undefined,
  { authenticate, basePath: '/api' },
)

/** Better Auth below /api/auth, the service below the rest of /api. */
export const expressApp = express()
// Better Auth reads bodies itself: before `express.json()`.
expressApp.all('/api/auth/*path', toAuthHandler(auth))
expressApp.all('/api/*path', toNodeHandler(service))

/** The same in Hono, as on Bun, Deno and workers. */
export const honoApp = new Hono()
honoApp.all('/api/auth/*', (context) => auth.handler(context.req.raw))
honoApp.all('/api/*', (context) => service(context.req.raw))

if (PORT !== undefined) expressApp.listen(Number(PORT))
else if (HONO_PORT !== undefined) serve({ fetch: honoApp.fetch, port: Number(HONO_PORT) })
