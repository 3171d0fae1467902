import { expect, test } from 'vitest'
import { fold } from '../../../../src/tools/page/app/model/requests/fold.js'
import { describeField } from '../../../../src/tools/page/app/model/words.js'

const own = (status: number | null) => ({ status, note: '', isQuestion: false })
const beside = (status: number | null) => ({ status, note: 'why', isQuestion: false })
const question = (status: number | null) => ({ status, note: 'may you?', isQuestion: true })

test('what the page asks by itself stands together, and nothing else does', () => {
  const asked = [
    ...[beside(200), question(412), question(403), beside(null)],
    ...[own(200), own(200), beside(200), own(500)],
    ...[beside(304), beside(404), question(412), beside(0), question(404)],
  ]
  const groups = fold(asked)
  expect(groups.flat()).toEqual(asked)
  expect(groups.map((group) => group.length)).toEqual([4, 1, 1, 1, 1, 1, 1, 1, 1, 1])
  expect(fold([])).toEqual([])
})

test.each([
  ['change-secret', 'current', 'secret', 'current password'],
  ['change-secret', 'new', 'secret', 'new password'],
  ['change-identifier', 'new', 'text', 'new address'],
  ['reset', 'token', 'text', 'code'],
  ['login', 'email', 'text', undefined],
  ['register', 'token', 'text', undefined],
] as const)('in %s, %s of kind %s is called %j', (form, name, kind, label) => {
  expect(describeField(form, { name, kind })).toBe(label)
})
