import { afterEach, describe, expect, test, vi } from 'vitest'
import { compilePattern, MAX_OPERATIONS } from '../../../../../src/core/filter/pattern/compile-pattern.js'
import { parsePattern } from '../../../../../src/core/filter/pattern/parse-pattern.js'
import { countNodes, countPaths } from '../../../../../src/core/filter/pattern/syntax/measure-pattern.js'
import type { Pattern } from '../../../../../src/core/filter/pattern/syntax/pattern.js'

const parse = (source: string): Pattern => parsePattern(source, { ignoreCase: false })

/** The longest text whose search takes at most this many operations by the bound; `undefined` if there is none. */
function longestText(pattern: Pattern, unit: string, operations = MAX_OPERATIONS): string | undefined {
  const length = Math.floor(operations / (countPaths(pattern) * Math.max(1, countNodes(pattern)))) - 1
  return length < 0 ? undefined : unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
}

afterEach(() => {
  vi.restoreAllMocks()
})

/** Whether the search of a text uses a regular expression. */
function isNative(pattern: Pattern, text: string): boolean {
  const { test: search } = compilePattern(pattern)
  const spy = vi.spyOn(RegExp.prototype, 'test')
  search(text)
  const calls = spy.mock.calls.length
  spy.mockRestore()
  return calls > 0
}

describe('a regular expression of the runtime searches', () => {
  test.each(['[ab]', '(?:a|b){8}', 'a{0,9}[bc]', '^a?b?c?$', '(?:|a){5}b', '\\ba'])(
    'a text up to a bound: %s',
    (source) => {
      const pattern = parse(source)
      const text = longestText(pattern, 'x') ?? ''
      expect(isNative(pattern, text)).toBe(true)
      expect(isNative(pattern, `${text}x`)).toBe(false)
    },
  )

  test.each(['a*', 'a+b', '(?:ab{2,}){2}', '(?:a|a){30}', '(?:|){30}', 'x\\By', '((a?){30}){30}'])(
    'no text: %s',
    (source) => {
      for (const text of ['', 'x']) expect(isNative(parse(source), text)).toBe(false)
    },
  )
})

test.each<[string, number, number]>([
  ['abc', 1, 3],
  ['', 1, 0],
  ['a|b|', 3, 3],
  ['(?:a|b)(?:c|d|e)', 6, 7],
  ['(?:a|b){3}', 8, 9],
  ['(?:a|b){1,3}', 24, 9],
  ['a{0,9}', 10, 9],
  ['(?:a?){4}', 16, 4],
  ['(?:a*){0}', 1, 1],
  ['a*', Number.POSITIVE_INFINITY, 1],
  ['^\\b[ab]$', 1, 4],
  ['\\B', Number.POSITIVE_INFINITY, 1],
])('%s has %d paths and %d nodes', (source, paths, nodes) => {
  expect(countPaths(parse(source))).toBe(paths)
  expect(countNodes(parse(source))).toBe(nodes)
})

/** Counts what a backtracking engine without any optimisation tries until it knows that a text has no match. */
function countTries(pattern: Pattern, text: string): number {
  const points = [...text].map((character) => character.codePointAt(0) ?? 0)
  const isWord = (point: number | undefined): boolean =>
    point !== undefined && /\w/.test(String.fromCodePoint(point))
  let tries = 0
  const take = (at: number, accepts: (point: number) => boolean): boolean => {
    tries += 1
    const point = points[at]
    return point !== undefined && accepts(point)
  }
  type Next = (at: number) => boolean
  const tryAll = (parts: readonly Pattern[], from: number, at: number, next: Next): boolean => {
    const part = parts[from]
    return part ? tryOne(part, at, (end) => tryAll(parts, from + 1, end, next)) : next(at)
  }
  const tryOne = (part: Pattern, at: number, next: Next): boolean => {
    switch (part.kind) {
      case 'text': {
        let end = at
        for (const character of part.text)
          if (!take(end++, (point) => point === character.codePointAt(0))) return false
        return next(end)
      }
      case 'set':
        return (
          take(at, (point) => part.ranges.some(([first, last]) => first <= point && point <= last)) &&
          next(at + 1)
        )
      case 'start':
        return at === 0 && next(at)
      case 'end':
        return at === points.length && next(at)
      case 'boundary':
        tries += 1
        return (isWord(points[at - 1]) !== isWord(points[at])) !== part.negated && next(at)
      case 'sequence':
        return tryAll(part.parts, 0, at, next)
      case 'choice':
        return part.parts.some((one) => tryOne(one, at, next))
      case 'repeat': {
        const { min, max } = part
        const repeat = (count: number, from: number): boolean =>
          ((max === null || count < max) &&
            tryOne(part.part, from, (end) => (end > from || count < min) && repeat(count + 1, end))) ||
          (count >= min && next(from))
        return repeat(0, at)
      }
      default:
        return part satisfies never
    }
  }
  for (let at = 0; at <= points.length; at++) if (tryOne(pattern, at, () => true)) return 0
  return tries
}

/** Patterns with many paths, and a text that leads into all of them but matches none. */
const WORST: readonly (readonly [source: string, unit: string])[] = [
  ...[1, 2, 3, 5, 8, 12, 14].flatMap((count): [string, string][] => [
    [`(?:a|a){${count}}b`, 'a'],
    [`(?:|){${count}}b`, 'a'],
    [`(?:a?){${count}}b`, 'a'],
    [`(?:a{0,1}){${count}}[bc]`, 'a'],
    [`(?:a|ab|abc){${count}}d`, 'abc'],
    [`(?:[^x]|.){${count}}[x]`, '\u{1f600}'],
    [`(?:\\b|a|\\b){${count}}c`, 'a '],
    [`(?:(?:a|a){2}|(?:a|a)){${Math.ceil(count / 4)}}b`, 'a'],
    [`^(?:a|a){${count}}$`, 'a'],
  ]),
  ...[2, 5, 20, 80, 128].flatMap((count): [string, string][] => [
    [`(?:${Array(count).fill('a').join('|')})b`, 'a'],
    [`(?:${Array(count).fill('ab').join('|')}){2}c`, 'ab'],
    [`(?:${Array.from({ length: Math.min(count, 80) }, (_, i) => `aaaa${i % 10}`).join('|')})Z`, 'a'],
  ]),
  ...[10, 100, 500, 999].flatMap((count): [string, string][] => [
    [`a{${count}}b`, 'a'],
    [`a{0,${count}}b`, 'a'],
    [`[^x]{${count}}x`, '\u{1f600}'],
    [`(?:a{0,${Math.floor(count / 2)}}){1,2}b`, 'a'],
  ]),
  ...[5, 10, 30].flatMap((count): [string, string][] => [
    [`a{0,${count}}a{0,${count}}b`, 'a'],
    [`[ab]{0,${count}}.{0,${2 * count}}[c]`, 'ab'],
    [`(?:a{1,${count}}a{1,${count}}){1,2}b`, 'a'],
  ]),
]

test('the worst patterns take no more than the bound allows, by their tries', () => {
  // Tries grow with the length of the text, like the bound, so a part of the bound is enough.
  const operations = MAX_OPERATIONS / 8
  const ratios = WORST.flatMap(([source, unit]): [string, number][] => {
    const pattern = parse(source)
    const text = longestText(pattern, unit, operations)
    return text === undefined ? [] : [[source, countTries(pattern, text) / operations]]
  })
  expect(ratios.length).toBeGreaterThan(60)
  expect(ratios.filter(([, ratio]) => ratio > 1.5)).toEqual([])
  expect(Math.max(...ratios.map(([, ratio]) => ratio))).toBeGreaterThan(0.9)
})
