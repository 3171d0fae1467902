/** Requests over node:http from an address of this machine; run as a thread, it keeps sending one until it is told to stop. */
import { Agent, request } from 'node:http'
import { parentPort } from 'node:worker_threads'

/** Creates what sends requests from an address; resolves to the status, the body and the milliseconds of each. */
export function createAsk(port, localAddress, maxSockets = 200) {
  const agent = new Agent({ keepAlive: true, maxSockets })
  return (method, path, body) => {
    const begun = performance.now()
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers =
      text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      const sent = request({ port, localAddress, method, path, headers, agent }, (response) => {
        let read = ''
        response.setEncoding('utf8')
        response.on('data', (piece) => {
          read += piece
        })
        response.on('end', () =>
          resolve({
            status: response.statusCode,
            body: read === '' ? undefined : JSON.parse(read),
            milliseconds: performance.now() - begun,
          }),
        )
      })
      sent.on('error', reject)
      sent.end(text)
    })
  }
}

let isOver = true
parentPort?.on('message', async ({ port, address, connections, method, path, body, stop }) => {
  if (stop) {
    isOver = true
    return
  }
  isOver = false
  const ask = createAsk(port, address, connections)
  let asked = 0
  const one = async () => {
    while (!isOver) {
      asked += 1
      // A body names a new account each time.
      await ask(method, path, body && JSON.parse(JSON.stringify(body).replace('#', String(asked)))).catch(
        () => {},
      )
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  parentPort.postMessage(asked)
})
