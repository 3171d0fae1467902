/**
 * A client of plain sockets, as a thread: it costs little, and each connection waits for its answer before it asks again. It
 * sends requests one after another, from `from` on: `{ method, path, body?, token? }`, as a list, or as a module that exports
 * `createRequest(name, size)`, a function of their number.
 */
import { connect } from 'node:net'
import { parentPort } from 'node:worker_threads'

const HEAD_END = Buffer.from('\r\n\r\n')
const STREAM_END = Buffer.from('\r\n0\r\n\r\n')

/** The status of an answer; `undefined` while a part of it is missing. */
function readAnswer(bytes) {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return undefined
  const head = bytes.latin1Slice(0, end)
  const status = Number(head.slice(9, 12))
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  const isWhole =
    length === undefined
      ? bytes.subarray(-STREAM_END.length).equals(STREAM_END)
      : bytes.length >= end + HEAD_END.length + Number(length)
  return isWhole ? status : undefined
}

function write({ method, path, body, token }) {
  const content = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    ...(token ? [`authorization: Bearer ${token}`] : []),
    ...(content ? ['content-type: application/json', `content-length: ${Buffer.byteLength(content)}`] : []),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${content}`
}

function run({ port, requests, from = 0, milliseconds, connections }) {
  const until = performance.now() + milliseconds
  const waits = []
  let asked = from
  let refused = 0
  const request = () => write(requests(asked++))
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      let parts = []
      let begun = performance.now()
      const next = () => {
        if (performance.now() >= until) return socket.end(resolve)
        begun = performance.now()
        socket.write(request())
      }
      socket.setNoDelay(true).on('error', reject).on('connect', next)
      socket.on('data', (chunk) => {
        parts = [...parts, chunk]
        const bytes = parts.length === 1 ? chunk : Buffer.concat(parts)
        parts = [bytes]
        const status = readAnswer(bytes)
        if (status === undefined) return
        if (status >= 300) refused += 1
        waits.push(performance.now() - begun)
        parts = []
        next()
      })
    })
  return Promise.all(Array.from({ length: connections }, one)).then(() => ({ waits, refused }))
}

const lists = new Map()

parentPort.on('message', async ({ list, name, module, size, ...task }) => {
  if (list) lists.set(name, list)
  const known = lists.get(name)
  const requests = known
    ? (number) => known[number % known.length]
    : (await import(module)).createRequest(name, size)
  const { waits, refused } = await run({ ...task, requests })
  waits.sort((x, y) => x - y)
  const at = (share) => waits[Math.floor(waits.length * share)] ?? 0
  parentPort.postMessage({ count: waits.length, refused, tail: at(0.99) / at(0.5), slow: at(0.99) })
})
