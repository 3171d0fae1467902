// The page of the worker opfs.ts: notes that are still there when the page is loaded again.
import { createClient } from 'collection-service/client'
import type { config } from './opfs.js'

const worker = new Worker('opfs.js', { type: 'module' })

/** Sends a request to the worker. Answers come as a whole, so changes are not streamed. */
async function send(request: Request): Promise<Response> {
  const { port1: mine, port2: other } = new MessageChannel()
  const answered = new Promise<MessageEvent>((resolve) => {
    mine.onmessage = resolve
  })
  const { url, method } = request
  const body = method === 'GET' || method === 'HEAD' ? null : await request.arrayBuffer()
  worker.postMessage({ url, init: { method, headers: [...request.headers], body } }, [other])
  const { data } = await answered
  mine.close()
  if (data.error !== undefined) throw new TypeError(data.error)
  return new Response(data.body, data.init)
}

const notes = createClient<typeof config>(send).collection('notes')
const list = document.body.appendChild(document.createElement('ul'))
const input = document.body.appendChild(document.createElement('input'))

async function show(): Promise<void> {
  const items = (await notes.list({ sort: { createdAt: 1 } })).map(({ text }) => {
    const item = document.createElement('li')
    item.textContent = text
    return item
  })
  list.replaceChildren(...items)
}

input.addEventListener('change', async () => {
  await notes.create({ text: input.value })
  input.value = ''
  await show()
})

await show()
