import { expect, test } from 'vitest'
import { and, type FieldRef, type Filter, mapLeaves, not, or } from '../../../../src/core/filter/filter.js'

const fieldOf = (path: string): FieldRef => ({ path, type: 'string', each: false })
const [A, B] = [fieldOf('a'), fieldOf('b')]
const eq = (field: FieldRef, value: string): Filter => ({ kind: 'eq', field, value })
const present: Filter = { kind: 'present', field: A }

test.each<[string, Filter, readonly string[]]>([
  ['a leaf', eq(A, 'x'), ['a']],
  ['each of an AND', and([eq(A, 'x'), eq(A, 'y'), present]), ['a', 'a', 'a']],
  ['all equalities of an OR on one field', or([eq(A, 'x'), eq(A, 'y'), eq(A, 'z')]), ['a']],
  ['those on each of two', or([eq(A, 'x'), eq(A, 'y'), eq(B, 'x'), eq(B, 'y')]), ['a', 'b']],
  ['what else is among them by itself', or([present, eq(A, 'x'), eq(A, 'y')]), ['a', 'a']],
  ['what is negated', not(or([eq(A, 'x'), eq(A, 'y')])), ['a']],
])('puts one thing in the place of %s', (_, filter, places) => {
  const asked: string[] = []
  const same = mapLeaves(filter, (part, { path }) => {
    asked.push(path)
    return part
  })
  expect(asked.sort()).toEqual(places)
  expect(same).toEqual(filter)
})
