import { describe, expect, test } from 'vitest'
import { CODES } from '../../../../../src/tools/insight/check/codes.js'
import { checkConfig, type InsightOptions } from '../../../../../src/tools/insight/index.js'
import { ROWS_OF_RULES } from './support/rows-of-rules.js'
import { ROWS_OF_VALUES } from './support/rows-of-values.js'

// CONTRACT.md §8, "Check"

const ROWS = { ...ROWS_OF_RULES, ...ROWS_OF_VALUES }

const find = (written: unknown, options: InsightOptions = {}): readonly string[] =>
  checkConfig(written, options).map(({ code, pointer }) => `${code} ${pointer}`)

const cases = Object.entries(ROWS).flatMap(([code, rows]) => rows.map((row) => [code, ...row] as const))

describe.each(cases)('%s: %s', (code, _, shown, pointers, near) => {
  test('is found', () => expect(find(shown)).toEqual(pointers.map((pointer) => `${code} ${pointer}`)))
  test('and not where all is well', () => expect(find(near)).toEqual([]))
})

test('every code beyond those of the start and of texts is shown', () => {
  const OTHERS = Object.keys(CODES).slice(0, Object.keys(CODES).indexOf('never_matches'))
  const all = [
    ...OTHERS.filter((code) => code !== 'unfillable_field' && code !== 'impossible_role'),
    ...Object.keys(ROWS),
    'unused_ignore',
  ]
  expect(all.sort()).toEqual(Object.keys(CODES).sort())
})
