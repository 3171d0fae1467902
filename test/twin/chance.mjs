/**
 * Replaces the sources of random numbers and of time in a process, so that two builds of the package draw the same ids, tokens
 * and versions. It is imported before the package, which may keep a function that it finds at load time.
 */
import { createHash } from 'node:crypto'

/** The time of a process in milliseconds since 1970, which scenes move. */
export const clock = { now: 0 }

let seed = ''
const streams = new Map()

/**
 * Begins all draws again. Scenes do so before each request: a build that draws once more in one request differs in this
 * request alone.
 */
export function reseed(text) {
  seed = text
  streams.clear()
}

/**
 * The next 32 bits of a kind of draw (Mulberry32). Each kind and each length has a stream of its own, so that the order in which
 * code draws an id and a token is not compared: no answer shows it.
 */
function draw(kind) {
  let state = streams.get(kind)
  if (state === undefined) state = createHash('sha256').update(`${seed} ${kind}`).digest().readInt32LE()
  state = (state + 0x6d2b79f5) | 0
  streams.set(kind, state)
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return (mixed ^ (mixed >>> 14)) >>> 0
}

function fill(array, kind = `bytes ${array.byteLength}`) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
  for (let i = 0; i < bytes.length; i++) bytes[i] = draw(kind) >>> 11
  return array
}

function drawUuid() {
  const bytes = fill(Buffer.alloc(16), 'uuid')
  bytes[6] = (bytes[6] & 0x0f) | 0x40
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const replaced = { getRandomValues: (array) => fill(array), randomUUID: drawUuid }
for (const [name, value] of Object.entries(replaced)) {
  const property = { value, configurable: true, writable: true }
  Object.defineProperty(Object.getPrototypeOf(crypto), name, property)
  Object.defineProperty(crypto, name, property)
}
Math.random = () => draw('number') / 2 ** 32
// Timers go on by the real time: this clock gives the times in answers alone.
Date.now = () => clock.now

let busy = 0

/** Whether a thread computes something of `crypto.subtle`, as the sealed ids of events. Turns of the event loop do not wait for it. */
export const isBusy = () => busy > 0

const subtle = Object.getPrototypeOf(crypto.subtle)
for (const name of ['encrypt', 'decrypt', 'digest', 'sign', 'importKey', 'deriveKey', 'deriveBits']) {
  const { [name]: compute } = subtle
  subtle[name] = async function (...given) {
    busy += 1
    try {
      return await compute.apply(this, given)
    } finally {
      busy -= 1
    }
  }
}
