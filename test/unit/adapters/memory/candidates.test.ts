import { describe, expect, test } from 'vitest'
import {
  type CandidateList,
  type Cursor,
  candidatesInAll,
  candidatesMerged,
} from '../../../../src/adapters/memory/plan/candidates.js'
import { createPlanner } from '../../../../src/adapters/memory/plan/plan-scan.js'
import { createDatabase, createRows, createSortedIndex } from '../../../../src/adapters/memory/rows.js'
import { compare } from '../../../../src/core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, or, type Scalar } from '../../../../src/core/filter/filter.js'
import type { StoredDocument } from '../../../../src/index.js'
import fc from '../../../support/fast-check.js'

// CONTRACT.md §6, "Scheduling": a read looks at few documents where an index answers, and one that pauses goes on
// where it was.

const index = createSortedIndex([])
for (let i = 0; i < 30; i++) index.documents.insert({ _id: String(i).padStart(2, '0'), _version: 1 })

const walkAll = (candidates: CandidateList, skip: number, most: number): readonly string[] => {
  const seen: string[] = []
  const cursor = candidates.read(skip)
  for (let next = cursor.next(); next && seen.length < most; next = cursor.next()) seen.push(next._id)
  return seen
}

const drain = (cursor: Cursor): readonly string[] => {
  const ids: string[] = []
  for (let document = cursor.next(); document; document = cursor.next()) ids.push(document._id)
  return ids
}

const cut = fc.integer({ min: 0, max: 30 })
const parts = fc.tuple(fc.array(cut, { maxLength: 6 }), fc.boolean()).map(([cuts, isBackwards]) => {
  const places = [...cuts].sort((a, b) => a - b)
  return places.flatMap((first, i) => (i % 2 === 0 ? [{ first, end: places[i + 1] ?? 30, isBackwards }] : []))
})

test('parts of an index are walked, from any place, as one after another', () => {
  fc.assert(
    fc.property(parts, cut, fc.integer({ min: 1, max: 30 }), (ranges, skip, most) => {
      const candidates = candidatesInAll(ranges.map((range) => ({ index, range, way: 0, isOrdered: true })))
      const ids = index.copyDocuments().map(({ _id }) => _id)
      const expected = ranges.flatMap(({ first, end, isBackwards }) => {
        const part = ids.slice(first, end)
        return isBackwards ? part.reverse() : part
      })
      expect(candidates.length).toBe(expected.length)
      expect(walkAll(candidates, skip, most)).toEqual(expected.slice(skip, skip + most))
      expect(drain(candidates.read(skip, true))).toEqual(expected.slice(skip))
    }),
  )
})

test('parts of indexes are merged, from any place, each with its way', () => {
  const N: FieldRef = { path: 'n', type: 'integer', each: false }
  const ranges = fc.array(fc.tuple(cut, cut, fc.boolean()), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(ranges, fc.boolean(), cut, (drawn, descending, skip) => {
      const sort = [N, ID].map((field) => ({ field, descending }))
      const parts = drawn.map(([a, b, isOrdered], way) => {
        const held = createSortedIndex([N])
        for (let i = 0; i < 30; i++)
          held.documents.insert({ _id: `${way}-${String(i).padStart(2, '0')}`, _version: 1, n: i % 7 })
        // What is in no order must be sorted.
        const range = { first: Math.min(a, b), end: Math.max(a, b), isBackwards: descending === isOrdered }
        return { index: held, range, way, isOrdered }
      })
      const expected = parts
        .flatMap(({ index, range }) => index.copyDocuments().slice(range.first, range.end))
        .sort((a, b) => compareDocuments(a, b) * (descending ? -1 : 1))
        .map(({ _id }) => _id)
      const candidates = candidatesMerged(parts, sort)
      const seen: string[] = []
      const cursor = candidates.read(skip)
      for (let next = cursor.next(); next; next = cursor.next()) {
        expect(next._id.startsWith(`${cursor.way}-`)).toBe(true)
        seen.push(next._id)
      }
      expect(candidates.length).toBe(expected.length)
      expect(seen).toEqual(expected.slice(skip))
      expect(walkAll(candidates, skip, 3)).toEqual(expected.slice(skip, skip + 3))
      expect(drain(candidates.read(skip, true))).toEqual(expected.slice(skip))
    }),
  )
})

const compareDocuments = (a: StoredDocument, b: StoredDocument): number =>
  compare(a.n as number, b.n as number) || compare(a._id, b._id)

describe('of a thousand documents, a read looks only at those', () => {
  const tagged: FieldRef = { path: 'tags', type: 'string', each: true }
  const group: FieldRef = { path: 'group', type: 'integer', each: false }
  const held = createRows(createDatabase(), 'things')
  held.addSorted([group])
  held.addSorted([tagged])
  held.addSorted([tagged, group])
  for (let i = 0; i < 1000; i++)
    held.insert({ _id: `${i}`, _version: 1, group: i % 100, tags: [`t${i % 50}`, `t${i % 20}`] })
  const plan = createPlanner(held)
  const equals = (field: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field, value })
  const below = (field: FieldRef, value: Scalar): Filter => ({ kind: 'lt', field, value })

  test.each<[what: string, Filter, number]>([
    ['with one of several values', or([equals(group, 1), equals(group, 2), equals(group, 1)]), 20],
    ['whose array holds a value', equals(tagged, 't1'), 60],
    ['whose array holds one of several', or([equals(tagged, 't21'), equals(tagged, 't41')]), 40],
    ['that also meet another condition', and([equals(tagged, 't1'), equals(group, 1)]), 10],
    ['within bounds behind an element', and([equals(tagged, 't1'), below(group, 41)]), 20],
  ])('%s', (_, filter, looked) => {
    expect(plan(filter, []).candidates.length).toBe(looked)
  })

  test('that are left when some have changed and some are gone', () => {
    held.replace({ _id: '21', _version: 2, group: 1, tags: ['t1'] })
    held.remove('71')
    const { candidates } = plan(equals(tagged, 't21'), [])
    expect(candidates.length).toBe(18)
  })
})
