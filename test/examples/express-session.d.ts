/** What the example with sessions uses of a package that only the runs of `npm run test:examples` install. */
declare module 'express-session' {
  import type { RequestHandler } from 'express'

  interface SessionData {}
  interface Options {
    readonly secret: string
    readonly resave: boolean
    readonly saveUninitialized: boolean
    readonly cookie: { readonly sameSite: 'lax' }
  }
  const session: (options: Options) => RequestHandler
  export default session
  export type { SessionData }
}

declare namespace Express {
  interface Request {
    session: Partial<import('express-session').SessionData>
  }
}
