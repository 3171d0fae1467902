import { expect, test } from 'vitest'
import {
  describeCondition,
  describeForced,
} from '../../../../../src/tools/insight/text/describe-condition.js'

const conditions: readonly (readonly [where: object, text: string])[] = [
  [{ status: 'published' }, 'status = "published"'],
  [{ n: { $gte: 1, $lt: 9 } }, 'n ≥ 1 and n < 9'],
  [{ n: { $gt: 1 }, m: { $lte: 2 } }, 'n > 1 and m ≤ 2'],
  [{ s: { $ne: true } }, 's ≠ true'],
  [{ s: null, t: { $exists: false }, u: { $eq: null } }, 's is missing and t is missing and u is missing'],
  [{ s: { $ne: null }, t: { $exists: true } }, 's exists and t exists'],
  [{ team: { $in: '$user.teams' } }, 'team in $user.teams'],
  [{ team: { $in: ['a', '$user.team', null] } }, 'team in ["a", $user.team, null]'],
  [{ team: { $nin: [] } }, 'team not in []'],
  [{ at: { $lt: '$now' } }, 'at < $now'],
  [{ s: { $regex: '^$user.x', $options: 'i' } }, 's matches "^$user.x" ignoring case'],
  [{ $or: [{ a: 1 }, { b: 2, c: 3 }] }, 'a = 1 or (b = 2 and c = 3)'],
  [{ d: 0, $or: [{ a: 1 }, { b: 2 }] }, 'd = 0 and (a = 1 or b = 2)'],
  [{ $and: [{ a: 1 }, { $and: [{ b: 2 }, { $or: [{ c: 3 }] }] }] }, 'a = 1 and b = 2 and c = 3'],
  [{ $or: [{ a: 1 }, {}] }, 'a = 1 or anything'],
  [{ s: 'a "b"\n\u001b\u202e' }, String.raw`s = "a \"b\"\n\u001b\u{202e}"`],
  [{ s: '$user.a or b = 1' }, 's = "$user.a or b = 1"'],
]

test.each(conditions)('%j reads %s', (where, text) => {
  expect(describeCondition({ ...where })).toBe(text)
})

test('forced values stand with their names', () => {
  expect(describeForced({ by: '$user._id', tags: ['a', '$user.x'], o: { p: '$now' }, e: {} })).toBe(
    'by := $user._id, tags := ["a", $user.x], o := { "p": $now }, e := {}',
  )
})
