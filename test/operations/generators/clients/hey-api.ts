import { toQuery } from 'collection-service/client'
import { createClient } from './api/client/index.js'
import { createTasks, listTasks, updateTasks } from './api/sdk.gen.js'
import type { ListTasksData, TasksCreate, TasksPatch } from './api/types.gen.js'

export type Query = NonNullable<ListTasksData['query']>
export type NewTask = TasksCreate
export const MISSING = null

const dataOf = <T>({ data, error }: { data: T | undefined; error: unknown }): T => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

export function connect(baseUrl: string, token: string, hasToQuery: boolean) {
  const headers = { authorization: `Bearer ${token}` }
  const client = createClient({ baseUrl, headers, ...(hasToQuery ? { querySerializer: toQuery } : {}) })
  return {
    list: async (query: Query) => dataOf(await listTasks({ client, query })),
    create: async (body: NewTask) => dataOf(await createTasks({ client, body })),
    update: async (id: string, body: TasksPatch) => dataOf(await updateTasks({ client, path: { id }, body })),
  }
}
