import { expect, test } from 'vitest'
import { compileQuery } from '../../../../src/core/query/compile-query.js'
import { parseQueryString } from '../../../../src/core/query/query-string.js'
import type { Readable } from '../../../../src/core/query/reading.js'

// CONTRACT.md §6, "Scheduling"

test.each(['project', 'expand'])(
  'the nearest name is sought for the faults of %s that are told',
  (parameter) => {
    let sought = 0
    const readable: Readable = {
      find: () => undefined,
      isShownAlways: () => true,
      guard: (leaf) => leaf,
      parsePattern: () => {
        throw new Error('there is no pattern')
      },
      paths() {
        sought += 1
        return ['title']
      },
    }
    const names = Array.from({ length: 500 }, (_, i) => `titel${i}`)
    const raw = parseQueryString(`${parameter}=${JSON.stringify(names)}`, [parameter as 'project'], {
      queryBytes: 10_000,
    })
    const following = { targetOf: () => undefined, readable: () => null }
    const limits = { conditions: 9, values: 9, patterns: 9, defaultLimit: null, maxLimit: null }
    expect(() => compileQuery(raw, { readable, following }, limits, false)).toThrow('did you mean')
    expect(sought).toBe(8)
  },
)
