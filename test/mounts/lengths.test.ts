import { expect, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { createTestService } from '../support/service.js'
import { idOf } from '../support/stored.js'
import { call, useListen } from './support/node.js'

// RFC 9110 §8.6, §9.3.2: the length is that of the bytes, whatever they were written from, and HEAD tells the same.

const listen = useListen()

const config = {
  collections: {
    notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } },
  },
}

const TEXTS = [
  '',
  'plain',
  'é',
  '漢字',
  '😀😀',
  '漢'.repeat(30_000),
  'x'.repeat(70_000),
  '漢'.repeat(100_000),
]

test('answers have the length of their bytes', async () => {
  const notes = TEXTS.map((text, i) => ({ _id: idOf(i + 1), text }))
  const { handler } = createTestService(config, { documents: { notes } })
  const port = await listen(toNodeHandler(handler))
  const paths = [
    ...notes.flatMap(({ _id }) => [`/notes/${_id}`, `/notes/${_id}?project=["text"]`]),
    ...['/notes?limit=5', '/notes?limit=8', '/notes?limit=3&q[text][$regex]=漢', '/notes/count', '/nothing'],
  ].map((path) => encodeURI(path))
  // What was written once is kept: the second answer comes from there.
  for (const path of [...paths, ...paths]) {
    const got = await call(port, `GET ${path}`)
    const bytes = Buffer.byteLength(got.text)
    const { 'content-length': length, 'transfer-encoding': encoding } = got.headers
    expect({ path, length: encoding === undefined ? Number(length) : bytes }).toEqual({ path, length: bytes })
    expect(got.text).not.toContain('\ufffd')
    const head = await call(port, `HEAD ${path}`)
    expect({ path, length: head.headers['content-length'], text: head.text }).toEqual({
      path,
      length,
      text: '',
    })
  }
})

test('an answer that is known has no length', async () => {
  const { handler } = createTestService(config, { documents: { notes: [{ _id: idOf(1), text: '漢' }] } })
  const port = await listen(toNodeHandler(handler))
  const { headers } = await call(port, `GET /notes/${idOf(1)}`)
  const again = await call(port, `GET /notes/${idOf(1)}`, {
    headers: { 'if-none-match': String(headers.etag) },
  })
  expect([again.status, again.headers['content-length'], again.text]).toEqual([304, undefined, ''])
})
