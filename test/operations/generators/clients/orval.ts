import {
  getCreateTasksUrl,
  getListTasksUrl,
  getUpdateTasksUrl,
  type ListTasksParams,
  type Tasks,
  type TasksCreate,
  type TasksPatch,
} from './api.js'

export type Query = ListTasksParams
export type NewTask = TasksCreate
export const MISSING = null

/** The functions of orval ask at the address of the page; what they write is sent to another here. */
export function connect(baseUrl: string, token: string, _hasToQuery: boolean) {
  const send = async (method: string, url: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(baseUrl + url, { method, headers, body: body ? JSON.stringify(body) : null })
    if (!answer.ok) throw new Error(await answer.text())
    return answer.json()
  }
  return {
    list: (query: Query): Promise<Tasks[]> => send('GET', getListTasksUrl(query)),
    create: (body: NewTask): Promise<Tasks> => send('POST', getCreateTasksUrl(), body),
    update: (id: string, body: TasksPatch): Promise<Tasks> => send('PATCH', getUpdateTasksUrl(id), body),
  }
}
