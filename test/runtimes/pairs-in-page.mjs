/** A page that writes pairs of notes through the worker of the example opfs.ts: for opfs-kills.mjs. */

const worker = new Worker('opfs.js', { type: 'module' })

/** Sends a request to the worker: the status and the body of the response. */
async function send(method, path, body) {
  const { port1: mine, port2: other } = new MessageChannel()
  const answered = new Promise((resolve) => {
    mine.onmessage = ({ data }) => resolve(data)
  })
  const headers = [['content-type', 'application/json']]
  worker.postMessage({ url: location.origin + path, init: { method, headers, body } }, [other])
  const answer = await answered
  mine.close()
  if (answer.error !== undefined) throw new Error(answer.error)
  return { status: answer.init.status, text: new TextDecoder().decode(answer.body) }
}

/** Writes pairs of notes, each in one batch, and reports those that are acknowledged. Returns the response that is an error. */
globalThis.writePairs = async (name) => {
  for (let n = 0; ; n += 1) {
    const create = { method: 'POST', path: '/notes', body: { text: `${name}-${n}` } }
    const answer = await send('POST', '/_batch', JSON.stringify({ operations: [create, create] }))
    if (answer.status !== 200) return answer
    // The next pair does not wait for it, so a kill comes during a write.
    globalThis.report(create.body.text)
  }
}

/** The pair of each note. */
globalThis.listPairs = async () => JSON.parse((await send('GET', '/notes')).text).map(({ text }) => text)
