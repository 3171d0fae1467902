// Your own accounts, in a session of Express, decide who calls. To run it: PORT=3000 npx tsx express-session.ts
import { createCollectionService } from 'collection-service'
import { nodeRequest, toNodeHandler } from 'collection-service/node'
import express, { type Request } from 'express'
import session from 'express-session'

declare module 'express-session' {
  interface SessionData {
    user: { readonly id: string; readonly roles: readonly string[] }
  }
}

const service = createCollectionService(
  {
    collections: {
      notes: {
        schema: { text: { type: 'string', required: true, maxLength: 1000 } },
        permissions: { user: { create: true }, owner: { read: true, update: true, delete: true } },
      },
    },
  },
  undefined,
  // `null` is nobody. A cookie goes with requests from other sites too, so a session should be `sameSite`.
  { authenticate: (request) => nodeRequest<Request>(request)?.session.user ?? null },
)

export const app = express()

// Before the service: what it asks for must be there.
app.use(
  session({ secret: 'change me', resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }),
)

// Here you would ask your own accounts.
app.post('/login', express.json(), (request, response) => {
  request.session.user = { id: String(request.body.name), roles: [] }
  response.json(request.session.user)
})
app.use('/api', toNodeHandler(service))

if (process.env.PORT !== undefined) app.listen(Number(process.env.PORT))
