/** One request over node:http; run as a thread, it sends the attacks, so that reading their answers delays nobody else. */
import { Agent, request } from 'node:http'
import { parentPort } from 'node:worker_threads'

const agent = new Agent({ keepAlive: true, maxSockets: 100 })

/** Its status, `0` where the server has gone, and how long it took. */
export function ask(port, { method, path, body }) {
  const begun = performance.now()
  return new Promise((resolve) => {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': length }
    const end = (status) => resolve({ status, milliseconds: performance.now() - begun })
    const sent = request({ port, method, path, headers, agent }, (response) => {
      response.on('end', () => end(response.statusCode))
      response.on('error', () => end(0))
      response.resume()
    })
    sent.on('error', () => end(0))
    sent.end(body)
  })
}

parentPort?.on('message', async ({ port, what, count }) => {
  const answers = await Promise.all(Array.from({ length: count }, () => ask(port, what)))
  parentPort.postMessage(answers.map(({ status }) => status))
})
