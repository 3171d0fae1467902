import { expect, test } from 'vitest'
import { everything } from '../../../../src/core/filter/filter.js'
import type { LinkedQuery } from '../../../../src/core/query/query-reader.js'
import { createKeptPages } from '../../../../src/core/request/kept-pages.js'
import { useCaches } from '../../../support/caches.js'

// CONTRACT.md §6, "Scheduling"

useCaches()

const queryOf = (text: string): LinkedQuery =>
  Object.freeze({
    filter: everything,
    projection: null,
    expand: [],
    sort: [],
    skip: 0,
    limit: 1,
    after: null,
    isTotalAsked: false,
    text,
  })

test.each([
  ['short', 10, 8000],
  ['long', 1000, 500],
])('of queries that are %s few are kept, however small their pages are', (_, length, most) => {
  const pages = createKeptPages()
  const queries = Array.from({ length: 20_000 }, () => queryOf('x'.repeat(length)))
  const page = { documents: [], json: new Uint8Array(2) }
  for (const query of queries) pages.keep(query, page)
  const kept = queries.filter((query) => pages.find(query, []) !== undefined)
  expect(kept.at(-1)).toBe(queries.at(-1))
  expect(kept.length).toBeLessThanOrEqual(most)
})
