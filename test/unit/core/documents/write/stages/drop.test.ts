import { expect, test } from 'vitest'
import { compileConfig } from '../../../../../../src/core/config/compile-config.js'
import type { Collection } from '../../../../../../src/core/config/plan.js'
import { cutUndeclared } from '../../../../../../src/core/documents/write/stages/drop.js'

// CONTRACT.md §6, "Scheduling"

function collectionOf(additionalProperties: boolean): Collection {
  const things = { schema: { a: { type: 'string' }, b: { type: 'hash' } }, additionalProperties }
  const { collections } = compileConfig(
    { collections: { things } },
    { production: false, hasAuthenticate: true },
  )
  const found = collections.get('things')
  if (!found) throw new Error('no collection')
  return found
}

const given = Object.fromEntries([
  ...Array.from({ length: 10_000 }, (_, i): [string, unknown] => [`n${i}`, i]),
  ['a', 'x'],
  ['b', 'secret'],
])

test('of undeclared names no more are judged than an answer tells faults of', () => {
  const cut = cutUndeclared(collectionOf(false), given)
  expect(Object.keys(cut)).toEqual([...Array.from({ length: 50 }, (_, i) => `n${i}`), 'a', 'b'])
  expect(cut).toMatchObject({ n49: 49, a: 'x', b: 'secret' })
})

test('all are, where they may be stored, and where they are few', () => {
  expect(cutUndeclared(collectionOf(true), given)).toBe(given)
  const few = { n0: 1, a: 'x' }
  expect(cutUndeclared(collectionOf(false), few)).toBe(few)
})
