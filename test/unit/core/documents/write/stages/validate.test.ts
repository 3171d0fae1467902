import { describe, expect, test } from 'vitest'
import { merge } from '../../../../../../src/core/documents/write/stages/merge.js'
import {
  faults,
  validateNew,
  validateUpdate,
} from '../../../../../../src/core/documents/write/stages/validate.js'
import { draftOf, judge } from '../support.js'

// CONTRACT.md §4, "Validation of bodies"

const schema = { a: { type: 'string', required: true }, n: { type: 'integer' } }

describe('a new document', () => {
  test('its validation errors end the evaluation', async () => {
    const draft = draftOf({ schema }, {})
    draft.fields = { n: 'x' }
    expect(await judge(draft, validateNew, faults)).toMatchObject({
      kind: 'invalid',
      faults: [
        { path: '/a', code: 'required' },
        { path: '/n', code: 'wrong_type' },
      ],
    })
  })

  test('without any, the next stage continues', async () => {
    const draft = draftOf({ schema }, {})
    draft.fields = { a: 'x' }
    expect(await judge(draft, validateNew, faults)).toBeUndefined()
  })
})

describe('an update', () => {
  const stored = { n: 'x' }

  test('what it does not change is not judged', async () => {
    const draft = draftOf({ schema }, { stored, body: { a: 'x' } })
    expect(await judge(draft, merge, validateUpdate, faults)).toBeUndefined()
  })

  test('a misspelt name that a PATCH removes', async () => {
    const draft = draftOf({ schema }, { stored, body: { b: null } })
    expect(await judge(draft, merge, validateUpdate, faults)).toMatchObject({
      faults: [{ path: '/b', code: 'unknown_property' }],
    })
  })

  test('values of the caller that do not fit: the rule does not accept the body', async () => {
    const permissions = { '*': { update: { set: { a: '$user.id' } }, read: true } }
    const draft = draftOf({ schema, permissions }, { stored, body: { a: 1 } })
    expect(await judge(draft, merge, validateUpdate, faults)).toEqual({ kind: 'refused' })
  })
})
