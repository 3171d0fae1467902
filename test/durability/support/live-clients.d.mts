import type { Caller } from '../../../src/index.js'

export const config: {
  readonly collections: {
    readonly things: {
      readonly changes: true
      readonly schema: {
        readonly team: { readonly type: 'string' }
        readonly s: { readonly type: 'string' }
        readonly n: { readonly type: 'integer' }
      }
    }
    readonly memberships: {
      readonly schema: {
        readonly user: { readonly type: 'string' }
        readonly team: { readonly type: 'string' }
      }
    }
  }
}
export const ADMIN: Caller
export const WATCHER: Caller
