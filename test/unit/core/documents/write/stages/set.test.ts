import { expect, test } from 'vitest'
import { set } from '../../../../../../src/core/documents/write/stages/set.js'
import { draftOf, judge } from '../support.js'

// CONTRACT.md §5, "Rules"

const world = (value: unknown) => ({
  schema: { a: { type: 'string' }, b: { type: 'string' } },
  permissions: { '*': { create: { set: { a: value } }, read: true } },
})

test('its values are added to those of the body', async () => {
  const draft = draftOf(world('x'), { body: { b: 'y' } })
  expect(await judge(draft, set)).toBeUndefined()
  expect(draft.given).toEqual({ a: 'x', b: 'y' })
})

test('a variable without a value: the rule does not accept the body', async () => {
  const draft = draftOf(world('$user.id'), {})
  expect(await judge(draft, set)).toEqual({ kind: 'refused' })
})
