import { expect, test } from 'vitest'
import { immutable } from '../../../../../../src/core/documents/write/stages/immutable.js'
import { merge } from '../../../../../../src/core/documents/write/stages/merge.js'
import { draftOf, judge } from '../support.js'

// CONTRACT.md §2, "Update"

const schema = { a: { type: 'string', immutable: true }, b: { type: 'string', required: true } }
const stored = { a: 'x', b: 'y' }

test.each([
  ['another value', { body: { a: 'z' } }, ['/a']],
  ['the same value', { body: { a: 'x' } }, []],
  ['the same value, hidden', { body: { a: 'x' }, shows: ['b'] }, ['/a']],
  ['before what is missing', { body: { a: 'x', b: null }, shows: [] }, ['/a', '/b']],
])('%s', async (_, made, paths) => {
  const draft = draftOf({ schema }, { stored, ...made })
  await judge(draft, merge, immutable)
  expect(draft.faults.map(({ path }) => path)).toEqual(paths)
})
