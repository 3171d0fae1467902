import { expect, test } from 'vitest'
import { createPostgresDialect } from '../../../src/adapters/postgres/postgres-engine.js'
import { compileCondition } from '../../../src/adapters/sql/compile-condition.js'
import { and, type Filter, or } from '../../../src/core/filter/filter.js'
import { parsePattern } from '../../../src/core/filter/pattern/parse-pattern.js'

const eq = (path: string): Filter => ({
  kind: 'eq',
  field: { path, type: 'string', each: false },
  value: path,
})
const pattern: Filter = {
  kind: 'match',
  field: { path: 'body', type: 'string', each: false },
  pattern: parsePattern('^a', { ignoreCase: false }),
}

test.each<[string, Filter, readonly string[]]>([
  ['all that stands before a pattern', and([eq('a'), eq('b'), pattern]), ['a', 'b']],
  ['nothing that stands behind one: it may be a rule that hides', and([eq('a'), pattern, eq('b')]), ['a']],
  ['nothing behind an alternative with one', and([or([pattern, eq('a')]), eq('b')]), ['a']],
])('where patterns are left over, a statement asks %s', (_, filter, asked) => {
  const bound: unknown[] = []
  const bind = (value: unknown): string => `$${bound.push(value)}`
  const { isExact } = compileCondition(filter, createPostgresDialect('s'), bind, { skipPatterns: true })
  expect([isExact, bound]).toEqual([false, asked])
})
