import { expect, test } from 'vitest'
import { merge } from '../../../../../../src/core/documents/write/stages/merge.js'
import { draftOf, judge } from '../support.js'

// CONTRACT.md §2, "Update"

const schema = {
  a: { type: 'string' },
  b: { type: 'string', required: true },
  n: { type: 'integer', default: 1 },
}
const stored = { a: 'x', b: 'y' }

test('a PATCH merges its body, and gives no default', async () => {
  const draft = draftOf({ schema }, { stored, body: { a: 'z' } })
  await judge(draft, merge)
  expect(draft.fields).toEqual({ a: 'z', b: 'y' })
  expect(draft.faults).toEqual([])
})

test('a PUT replaces, and gives defaults', async () => {
  const draft = draftOf({ schema }, { stored, body: { b: 'z' }, operation: 'put' })
  await judge(draft, merge)
  expect(draft.fields).toEqual({ b: 'z', n: 1 })
})

test('what is hidden counts as missing, and stays for a PUT', async () => {
  const hidden = draftOf({ schema }, { stored, body: { b: null }, shows: ['a'] })
  await judge(hidden, merge)
  expect(hidden.faults).toMatchObject([{ path: '/b', code: 'required' }])
  expect([...hidden.unseen]).toEqual([['b', undefined]])
  const put = draftOf({ schema }, { stored, body: {}, shows: ['a'], operation: 'put' })
  await judge(put, merge)
  expect(put.fields).toEqual({ b: 'y' })
})
