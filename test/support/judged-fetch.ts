import type { ApiDocument } from '../../src/tools/openapi/describe-service.js'
import { judgeAnswer, readDescription } from './described.js'
import { judged, noteFault } from './judged.js'

/**
 * `fetch` from a service in another process, which describes itself: each answer is held against what the service
 * describes to the one who asks.
 */
export async function judgedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init)
  const { origin, pathname } = new URL(url)
  const { method = 'GET' } = init
  const description = readDescription(await readDocument(origin, new Headers(init.headers)))
  const responses = description.findResponses(method, pathname)
  if (!responses) return response
  judged.answers += 1
  const { status, headers } = response
  const answered = { status, headers: Object.fromEntries(headers), body: await response.clone().text() }
  const fault = judgeAnswer(description, responses, answered)
  if (fault !== undefined)
    noteFault(`${method} ${pathname} is not as described: ${fault} in ${status} ${answered.body}`)
  return response
}

async function readDocument(origin: string, headers: Headers): Promise<ApiDocument> {
  const authorization = headers.get('authorization')
  const answer = await fetch(
    `${origin}/_openapi.json`,
    authorization === null ? {} : { headers: { authorization } },
  )
  if (!answer.ok) throw new Error(`${origin} does not describe itself: ${answer.status}`)
  return (await answer.json()) as ApiDocument
}
