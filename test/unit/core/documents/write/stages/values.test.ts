import { expect, test } from 'vitest'
import { defaults, normalise } from '../../../../../../src/core/documents/write/stages/values.js'
import { draftOf, judge } from '../support.js'

// CONTRACT.md §1, "Attributes"

const text = { type: 'string', trim: true }
const schema = {
  a: text,
  list: { type: 'array', items: text },
  n: { type: 'integer', default: 1 },
  o: { type: 'object', properties: { m: { type: 'integer', default: 2 } } },
}

test.each([Number.POSITIVE_INFINITY, 1])(
  'stored forms, then defaults, also in slices of %d',
  async (steps) => {
    const list = Array.from({ length: 100 }, () => ' x ')
    const draft = draftOf({ schema }, { body: { o: {}, a: ' y ', list }, steps })
    await judge(draft, normalise)
    expect(draft.fields).toEqual({ a: 'y', list: list.map(() => 'x'), o: {} })
    await judge(draft, defaults)
    expect(draft.fields).toEqual({ a: 'y', list: list.map(() => 'x'), n: 1, o: { m: 2 } })
  },
)
