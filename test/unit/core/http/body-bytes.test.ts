import { expect, test } from 'vitest'
import { BodyBytes } from '../../../../src/core/http/answer.js'

// CONTRACT.md §6, "Scheduling"

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

test('of many small chunks the bytes are kept, and not the chunks', () => {
  const text = 'a body of many bytes, each of which comes alone. '.repeat(200)
  const sent = bytesOf(text)
  const body = new BodyBytes()
  for (let i = 0; i < sent.length; i++) {
    body.add(sent.subarray(i, i + 1))
    body.add(new Uint8Array())
  }
  const joined = body.join()
  expect(new TextDecoder().decode(joined)).toBe(text)
  expect(joined.buffer).not.toBe(sent.buffer)
  expect(joined.buffer.byteLength).toBeLessThanOrEqual(2 * sent.length)
})

test('a body of one chunk is that chunk, and what a client sends twice is there twice', () => {
  const chunk = bytesOf('abc')
  const body = new BodyBytes()
  expect([body.join().length, body.length]).toEqual([0, 0])
  body.add(chunk)
  expect(body.join().buffer).toBe(chunk.buffer)
  body.add(chunk)
  expect([new TextDecoder().decode(body.join()), body.length]).toEqual(['abcabc', 6])
  expect(chunk).toEqual(bytesOf('abc'))
})
