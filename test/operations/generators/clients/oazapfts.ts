import { createTasks, defaults, listTasks, type TasksCreate, type TasksPatch, updateTasks } from './api.js'

export type Query = { readonly [name: string]: unknown }
export type NewTask = TasksCreate
export const MISSING = null

/** `q[title][$eq]` is `qTitleEq` here. */
const camelCase = (name: string): string =>
  name.replace(/[^a-zA-Z]+([a-zA-Z]?)/g, (_, first: string) => first.toUpperCase())

const dataOf = <T extends { status: number; data?: unknown }, S extends T['status']>(
  answer: T,
  status: S,
): Extract<T, { status: S }>['data'] => {
  if (answer.status !== status) throw new Error(JSON.stringify(answer.data))
  return answer.data as Extract<T, { status: S }>['data']
}

export function connect(baseUrl: string, token: string, _hasToQuery: boolean) {
  Object.assign(defaults, { baseUrl, headers: { authorization: `Bearer ${token}` } })
  return {
    list: async (query: Query) =>
      dataOf(
        await listTasks(
          Object.fromEntries(Object.entries(query).map(([name, value]) => [camelCase(name), value])),
        ),
        200,
      ),
    create: async (body: NewTask) => dataOf(await createTasks(body), 201),
    update: async (id: string, body: TasksPatch) => dataOf(await updateTasks(id, body), 200),
  }
}
