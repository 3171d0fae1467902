import type { Caller } from '../../../src/index.js'
import type { Sent, TestService } from '../../support/service.js'
import { fieldsOf, idOf, openStored } from '../../support/stored.js'

/** What the tests of changed documents have in common. */

export type Json = { readonly [name: string]: unknown }

export const LATER = '2026-11-20T08:00:00.000Z'
export const ann: Caller = { id: 'ann' }
export const as = (...roles: string[]): Caller => ({ id: 'eve', roles })
export const ONE = `/items/${idOf(1)}`

export const configOf = (schema: Json, permissions: Json = { '*': true }, settings: Json = {}) => ({
  collections: { items: { schema, permissions, ...settings } },
})

/** A service with these documents among its items. */
export const open = (config: Json, ...items: Json[]): Promise<TestService> =>
  openStored(config, { items }, { now: () => Date.parse(LATER) })

export const stored = (service: TestService, n = 1): Promise<Json> => fieldsOf(service, 'items', idOf(n))

/** The status, and of a fault the code. */
export const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])
export const UNAUTHENTICATED = [401, 'unauthenticated']
export const FORBIDDEN = [403, 'forbidden']
export const NOT_FOUND = [404, 'not_found']
export const FAILED = [412, 'precondition_failed']
export const INVALID = [400, 'validation_failed']
export const etagOf = ({ headers }: Sent): string => headers.get('etag') ?? 'none'
export const text = { type: 'string' }
export const whole = { type: 'integer' }
