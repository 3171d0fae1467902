import { toQuery } from 'collection-service/client'
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

export type Query = NonNullable<paths['/tasks']['get']['parameters']['query']>
/** A parameter that is JSON has the type `string`: it is given as JSON text. */
export const MISSING = 'null'
export type NewTask = components['schemas']['tasks.create']

const dataOf = <T>({ data, error }: { data?: T; error?: unknown }): T => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

export function connect(baseUrl: string, token: string, hasToQuery: boolean) {
  const headers = { authorization: `Bearer ${token}` }
  const client = createClient<paths>({
    baseUrl,
    headers,
    ...(hasToQuery ? { querySerializer: toQuery } : {}),
  })
  return {
    list: async (query: Query) => dataOf(await client.GET('/tasks', { params: { query } })),
    create: async (body: NewTask) => dataOf(await client.POST('/tasks', { body })),
    update: async (id: string, body: components['schemas']['tasks.patch']) =>
      dataOf(await client.PATCH('/tasks/{id}', { params: { path: { id } }, body })),
  }
}
