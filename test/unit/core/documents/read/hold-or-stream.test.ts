import { expect, test } from 'vitest'
import { bounds } from '../../../../../src/core/bounds.js'
import { holdOrStream, START, type TextWork } from '../../../../../src/core/documents/read/hold-or-stream.js'
import type { TextStream } from '../../../../../src/core/documents/read/text-stream.js'
import type { Call } from '../../../../../src/core/request/call.js'
import { type Deadline, UNHURRIED } from '../../../../../src/core/request/deadline.js'

const LONG = 'x'.repeat(bounds.shortCharacters + 1)

/** The text that some work writes, in a call that has nothing but a deadline. */
const write = (work: TextWork, deadline: Deadline = UNHURRIED) => {
  const callOf = (own: Deadline): Call => ({ deadline: own, within: callOf }) as Partial<Call> as Call
  return holdOrStream(callOf(deadline), work)
}

async function readAll(stream: string | TextStream): Promise<readonly string[]> {
  const pieces: string[] = []
  for await (const piece of stream as TextStream) pieces.push(String(piece))
  return pieces
}

test('a short text is whole, and there at once if the work does not wait', async () => {
  expect(write((_, add) => add('a'))).toBe('a')
  expect(
    await write(async (_, add) => {
      await add('a', START - 1)
      await add('b')
    }),
  ).toBe('ab')
})

test.each([
  ['characters', LONG, 0],
  ['documents', 'a', START],
])('a text of many %s is a stream', async (_, text, documents) => {
  const stream = await write((_current, add) => add(text, documents))
  expect(typeof stream).toBe('object')
  expect((await readAll(stream)).join('')).toBe(text)
})

test('a stream has pieces of equal length, and its work waits until they are read', async () => {
  let written = 0
  const stream = await write(async (_, add) => {
    for (; written < 50; written++) await add(`${written % 10}`.repeat(bounds.shortCharacters / 7))
  })
  expect(written).toBe(7)
  const pieces = await readAll(stream)
  expect(new Set(pieces.slice(0, -1).map(({ length }) => length))).toEqual(new Set([bounds.sentCharacters]))
  expect(pieces.join('')).toHaveLength(50 * Math.floor(bounds.shortCharacters / 7))
})

test('a failure before the stream is thrown, and one in the stream breaks it', async () => {
  const fail = () => {
    throw new Error('broken')
  }
  expect(() => write(fail)).toThrow('broken')
  await expect(write(async () => fail())).rejects.toThrow('broken')
  const stream = await write(async (_, add) => {
    await add(LONG)
    fail()
  })
  await expect(readAll(stream)).rejects.toThrow('broken')
})

test.each<[string, (stream: TextStream) => unknown]>([
  ['cancelled before it is read', (stream) => stream.cancel()],
  [
    'left',
    async (stream) => {
      for await (const _ of stream) break
    },
  ],
])('work ends when its stream is %s', async (_, end) => {
  let thrown: unknown
  let signal: AbortSignal | undefined
  const stream = await write(async (current, add) => {
    signal = current.deadline.signal
    try {
      await add(LONG)
    } catch (error) {
      thrown = error
      throw error
    }
  })
  expect([signal?.aborted, thrown]).toEqual([false, undefined])
  await end(stream as TextStream)
  await new Promise(setImmediate)
  expect([signal?.aborted, thrown]).toEqual([true, signal?.reason])
})

test('the deadline of the request ends the work only before the stream begins', async () => {
  const listeners = new Set<() => void>()
  const deadline: Deadline = {
    ...UNHURRIED,
    enter() {
      throw new Error('late')
    },
    onOver(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  let isOver = false
  const working = write((current) => {
    expect(() => current.deadline.enter('read')).toThrow('late')
    return new Promise((resolve) => {
      current.deadline.onOver(() => {
        isOver = true
        resolve()
      })
    })
  }, deadline)
  expect(listeners.size).toBe(1)
  for (const listener of listeners) listener()
  await working
  expect([isOver, listeners.size]).toEqual([true, 0])
  const stream = await write(async (current, add) => {
    await add(LONG)
    current.deadline.enter('read')
  }, deadline)
  expect(listeners.size).toBe(0)
  expect((await readAll(stream)).join('')).toBe(LONG)
})
