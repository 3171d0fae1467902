import { expect, test } from 'vitest'
import { divide } from '../../../../src/adapters/sqlite/read/read-statements.js'
import type { Filter } from '../../../../src/core/filter/filter.js'
import { parsePattern } from '../../../../src/core/filter/pattern/parse-pattern.js'

const eq = (path: string): Filter => ({
  kind: 'eq',
  field: { path, type: 'string', each: false },
  value: 'a',
})
const list: Filter = {
  kind: 'or',
  filters: Array.from({ length: 100 }, (_, i) => ({ ...eq('a'), value: `${i}` }) as Filter),
}
const pattern: Filter = {
  kind: 'match',
  field: { path: 'body', type: 'string', each: false },
  pattern: parsePattern('^a', { ignoreCase: false }),
}

test.each<[string, readonly Filter[], number]>([
  ['what is short is for the statement', [eq('a'), eq('b')], 2],
  ['a list of values is one condition', [list, eq('b')], 2],
  ['a pattern is for the core', [eq('a'), pattern], 1],
  ['the core judges all behind a pattern: it may be a rule that hides', [eq('a'), pattern, eq('b')], 1],
  [
    'of many conditions the first are for the statement',
    Array.from({ length: 20 }, (_, i) => eq(`f${i}`)),
    8,
  ],
])('%s', (_, conditions, asked) => {
  const divided = divide(conditions)
  expect([divided.asked, divided.judged]).toEqual([conditions.slice(0, asked), conditions.slice(asked)])
})
