/** A client of plain sockets, as a thread: it costs little, and each connection waits for its answer before it asks again. */
import { connect } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { workloads } from './workloads.mjs'

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

function run({ port, name, size, milliseconds, connections }) {
  const { ask, body } = workloads[name]
  const until = performance.now() + milliseconds
  const waits = []
  let asked = 0
  let refused = 0
  const request = () => {
    const path = encodeURI(ask(asked++, size)).replaceAll('%25', '%')
    const content = body?.()
    if (content === undefined) return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
    return `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(content)}\r\n\r\n${content}`
  }
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

parentPort.on('message', async (task) => {
  const { waits, refused } = await run(task)
  waits.sort((x, y) => x - y)
  const at = (share) => waits[Math.floor(waits.length * share)] ?? 0
  parentPort.postMessage({ count: waits.length, refused, tail: at(0.99) / at(0.5) })
})
