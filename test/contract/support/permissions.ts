import { expect } from 'vitest'
import { type Caller, ConfigError } from '../../../src/index.js'
import { type AnyConfig, createTestService, type TestService } from '../../support/service.js'

/** What the tests of permissions have in common. */

export const schema = {
  title: { type: 'string' },
  status: { type: 'string' },
  secret: { type: 'string' },
  views: { type: 'integer' },
}

export type Permissions = { readonly [subject: string]: unknown }

export const configOf = (permissions: Permissions, settings: object = {}): AnyConfig => ({
  collections: { items: { schema, permissions, ...settings } },
})

export const ID = (n: number): string => `0189abcd-0000-7000-8000-${String(n).padStart(12, '0')}`

export const documents = {
  items: [
    { _id: ID(1), title: 'public', status: 'published', secret: 's1', views: 1, createdBy: null },
    { _id: ID(2), title: 'own', status: 'draft', secret: 's2', views: 2, createdBy: 'ann' },
    { _id: ID(3), title: 'own public', status: 'published', secret: 's3', views: 3, createdBy: 'ann' },
    { _id: ID(4), title: 'foreign', status: 'draft', secret: 's4', views: 4, createdBy: 'bob' },
  ],
}

export const ALL = ['public', 'own', 'own public', 'foreign']

export const serve = (permissions: Permissions, settings?: object): TestService =>
  createTestService(configOf(permissions, settings), { documents })

export const ann: Caller = { id: 'ann' }
export const as = (...roles: string[]): Caller => ({ id: 'eve', roles })

export const titles = (service: TestService, caller: Caller | null): Promise<unknown[]> =>
  service.list('/items', 'title', { caller })

/** What a caller is answered to a request: the status and, of a fault, the code. */
export async function outcome(
  service: TestService,
  line: string,
  caller: Caller | null,
  body?: unknown,
): Promise<unknown> {
  const sent = body === undefined ? { caller } : { caller, body }
  const answer = await service.send(line, sent)
  return answer.status < 400 ? answer.status : [answer.status, answer.body.code]
}

export const UNAUTHENTICATED = [401, 'unauthenticated']
export const FORBIDDEN = [403, 'forbidden']
export const NOT_FOUND = [404, 'not_found']

export function faultPaths(config: AnyConfig, production = false): readonly string[] {
  try {
    createTestService(config, { production })
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigError)
    return (thrown as ConfigError).faults.map(({ path }) =>
      path.replace('/collections/items/permissions', ''),
    )
  }
  return []
}
