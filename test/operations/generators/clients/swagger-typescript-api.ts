import { Api, type TasksCreate, type TasksPatch } from './api.js'

export type Query = NonNullable<Parameters<Api<unknown>['tasks']['listTasks']>[0]>
export type NewTask = TasksCreate
export const MISSING = null

export function connect(baseUrl: string, token: string, _hasToQuery: boolean) {
  const headers = { authorization: `Bearer ${token}` }
  const { tasks } = new Api({ baseUrl, baseApiParams: { headers, format: 'json' } })
  return {
    list: async (query: Query) => (await tasks.listTasks(query)).data,
    create: async (body: NewTask) => (await tasks.createTasks(body)).data,
    update: async (id: string, body: TasksPatch) => (await tasks.updateTasks(id, body)).data,
  }
}
