import { describe, expect, test } from 'vitest'
import { compilePattern, MAX_OPERATIONS } from '../../../../../src/core/filter/pattern/compile-pattern.js'
import {
  MACHINE_BYTES,
  Machine,
  type SearchState,
} from '../../../../../src/core/filter/pattern/machine/machine.js'
import { parsePattern } from '../../../../../src/core/filter/pattern/parse-pattern.js'
import { createPatternStore } from '../../../../../src/core/filter/pattern/pattern-store.js'
import type { Pattern } from '../../../../../src/core/filter/pattern/syntax/pattern.js'
import { endless } from '../../../../../src/core/slices.js'
import { createRandom } from '../../../../../src/tools/testing/adapter/fuzz/random.js'

const parse = (source: string): Pattern => parsePattern(source, { ignoreCase: false })

const begin = (text: string): SearchState => ({ text, at: 0, set: undefined })

/** A text without a rhythm. */
function draw(letters: string, length: number, seed = 1): string {
  const random = createRandom(seed)
  return Array.from({ length }, () => random.pick([...letters])).join('')
}

/** What overflows a deterministic automaton, or had a matcher take many times the text: a pattern, and a text that it fits nearly. */
const HOSTILE: readonly (readonly [source: string, text: (length: number) => string])[] = [
  ['a[ab]{400}$', (length) => `${draw('ab', length)}c`],
  ['a[ab]{400}$', (length) => draw('ab', length)],
  ['[ab].{300}c.{300}[de]$', (length) => draw('abcdef', length)],
  ['((a?){30}){30}[bc]', (length) => 'a'.repeat(length)],
  ['^(a+)+$', (length) => `${'a'.repeat(length)}!`],
  ['^(a|aa)+$', (length) => `${'a'.repeat(length)}!`],
  ['^(?:a?){200}a{200}$', (length) => `${'a'.repeat(length)}!`],
  ['(x+x+)+[yz]', (length) => 'x'.repeat(length)],
  ['\\s+$', (length) => `${' '.repeat(length)}x`],
  ['(?:a.{9}|b.{8}|c.{7}|d.{6}){1,20}[YZ]', (length) => draw('abcd', length)],
  ['(?:[ab]?.?){100}[YZ]', (length) => draw('abc', length)],
  [`${'a'.repeat(200)}b${'a'.repeat(200)}`, (length) => 'a'.repeat(length)],
  [`${'a'.repeat(5)}b`, (length) => 'a'.repeat(length)],
  [
    `(?:${Array.from({ length: 140 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('|')})*[YZ]`,
    (length) => draw('\u4e00\u4e01\u4e02', length),
  ],
]

describe('matching is linear', () => {
  test.each(HOSTILE)('in steps: %s', (source, textOf) => {
    const stepsFor = (length: number): number => {
      const slice = { left: 1e12 }
      expect(compilePattern(parse(source)).search(textOf(length)).goOn(slice)).toBeTypeOf('boolean')
      return 1e12 - slice.left
    }
    // What is built is built once.
    const [, short = 0, middle = 0, long = 0] = [40_000, 40_000, 60_000, 80_000].map(stepsFor)
    expect(short).toBeGreaterThan(0)
    expect(long - middle).toBeLessThan(1.1 * (middle - short) + 100)
    expect(long).toBeLessThan(20 * 80_000)
  })
})

describe('memory is bounded', () => {
  test.each(HOSTILE)('for one pattern: %s', (source, textOf) => {
    let bytes = 0
    const machine = new Machine(parse(source), (more) => {
      bytes += more
    })
    machine.run(begin(textOf(30_000)), endless())
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThanOrEqual(MACHINE_BYTES)
  })

  test('for all together; a search whose machine was dropped goes on', () => {
    const text = `${'c'.repeat(500)}${draw('ab', 4000)}`
    const store = createPatternStore()
    const searches = Array.from({ length: 100 }, (_, i) =>
      compilePattern(store.parse(`a[ab]{${300 + i}}$`, { ignoreCase: false })).search(text),
    )
    const answers = searches.map(() => undefined as boolean | undefined)
    for (let round = 0; answers.includes(undefined); round++) {
      expect(round).toBeLessThan(1000)
      searches.forEach((search, i) => {
        answers[i] ??= search.goOn({ left: 500 })
        expect(store.bytes).toBeLessThanOrEqual(18 * 1024 * 1024)
      })
    }
    expect(store.bytes).toBeGreaterThan(8 * 1024 * 1024)
    expect(answers).toEqual(searches.map((_, i) => text.at(-301 - i) === 'a'))
  })
})

describe('a search that pauses', () => {
  const CASES: readonly (readonly [source: string, text: string])[] = [
    ['b', 'aaab'],
    ['abcdefghij', `abcdefghi${'abcdefghij'.repeat(3)}`],
    ['^a+b$', 'aaaab'],
    ['^a+b$', 'aaaac'],
    ['(ab|cd)+e', 'xxabcdabex'],
    ['\\bfoo\\b', 'a foo b'],
    ['\\bfoo\\b', 'afoo foob'],
    ['\\B', 'a\u{1f600}a'],
    ['\u{1f600}\\B', 'a\u{1f600}'],
    ['[\u{1f600}-\u{1f602}]$', 'x\u{1f600}y\u{1f601}'],
    ['a[ab]{5}$', 'abababbbaabab'],
    ['a[ab]{5}$', 'bbbbbbbb'],
    ['', ''],
    ['a', ''],
    ['$', 'abc'],
  ]
  /** Room for all states, for a few, for none. */
  const ROOMS = [MACHINE_BYTES, 1800, 0]

  test.each(CASES)('at every place answers the same: %s on %j', (source, text) => {
    const pattern = parse(source)
    const expected = compilePattern(pattern).test(text)
    const search = compilePattern(pattern).search(text)
    let answer: boolean | undefined
    let pauses = -1
    do {
      answer = search.goOn({ left: Number.MIN_VALUE })
      pauses++
    } while (answer === undefined && pauses <= 2 * text.length)
    expect(answer).toBe(expected)
    for (const room of ROOMS) {
      const machine = new Machine(pattern, () => {}, room)
      expect(machine.run(begin(text), endless())).toBe(expected)
      const place = begin(text)
      for (pauses = 0; ; pauses++) {
        // Another machine each time: what a search holds is of use to any.
        answer = new Machine(pattern, () => {}, room).run(place, { left: Number.MIN_VALUE })
        if (answer !== undefined) break
        expect(place.at).toBeGreaterThan(pauses)
      }
      expect(answer).toBe(expected)
    }
  })

  test('does so within its slice, or beyond it by what a regular expression of the runtime may take', () => {
    const OPERATIONS_PER_STEP = 32
    for (const [source, textOf] of HOSTILE) {
      const search = compilePattern(parse(source)).search(textOf(50_000))
      search.goOn({ left: 1 })
      for (;;) {
        const slice = { left: 200 }
        const answer = search.goOn(slice)
        expect(slice.left, source).toBeGreaterThan(-2000 - MAX_OPERATIONS / OPERATIONS_PER_STEP)
        if (answer !== undefined) break
        expect(slice.left, source).toBeLessThanOrEqual(0)
      }
    }
  })
})

describe('a text is sought in windows', () => {
  const WINDOW = 0x4000
  test.each(['needle', 'n', 'a longer needle than a window overlaps', '\u{1f600}\u{1f601}'])(
    '%s',
    (needle) => {
      const matcher = compilePattern({ kind: 'text', text: needle })
      for (const at of [
        0,
        WINDOW - 40,
        WINDOW - 6,
        WINDOW - 3,
        WINDOW - 1,
        WINDOW,
        2 * WINDOW - 1,
        3 * WINDOW,
      ]) {
        const text = `${'x'.repeat(at)}${needle}${'x'.repeat(WINDOW)}`
        expect(matcher.test(text), String(at)).toBe(true)
        expect(matcher.test(`${text.slice(0, at)}${text.slice(at + 1)}`), String(at)).toBe(false)
        const search = matcher.search(text)
        let answer = search.goOn({ left: 1 })
        while (answer === undefined) answer = search.goOn({ left: 1 })
        expect(answer, String(at)).toBe(true)
      }
    },
  )
})
