import { expect, test } from 'vitest'
import { createLookAhead } from '../../../../../src/core/documents/expand/expand-documents.js'

test('what is looked at is taken all the same, in order', () => {
  const numbers = createLookAhead([...Array(100).keys()][Symbol.iterator]())
  const taken: number[] = []
  for (let value = numbers.take(); value !== undefined; value = numbers.take()) {
    taken.push(value)
    const seen: number[] = []
    for (const next of numbers.ahead()) {
      if (seen.length === 7) break
      seen.push(next)
    }
    expect(seen).toEqual([...Array(100).keys()].slice(value + 1, value + 8))
  }
  expect(taken).toEqual([...Array(100).keys()])
})

test('no more is drawn from the source than is looked at', () => {
  let drawn = 0
  const source = (function* () {
    for (;;) {
      drawn += 1
      yield drawn
    }
  })()
  const numbers = createLookAhead(source)
  expect(numbers.take()).toBe(1)
  for (const next of numbers.ahead()) if (next === 5) break
  expect(drawn).toBe(5)
  expect([numbers.take(), numbers.take(), drawn]).toEqual([2, 3, 5])
})
