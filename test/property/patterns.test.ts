import { RE2JS } from 're2js'
import { expect, test, vi } from 'vitest'
import { compilePattern } from '../../src/core/filter/pattern/compile-pattern.js'
import { MACHINE_BYTES, Machine } from '../../src/core/filter/pattern/machine/machine.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import type { Pattern } from '../../src/core/filter/pattern/syntax/pattern.js'
import {
  JAVASCRIPT,
  type PatternDialect,
  printPattern,
} from '../../src/core/filter/pattern/syntax/print-pattern.js'
import { PatternFault } from '../../src/core/filter/pattern/syntax/read-syntax.js'
import { endless } from '../../src/core/slices.js'
import { createRandom, type Random } from '../../src/tools/testing/adapter/fuzz/random.js'
import { drawPattern } from '../../src/tools/testing/adapter/fuzz/random-query.js'
import { seedOf } from '../support/tier.js'

const RE2: PatternDialect = {
  codePoint: (point) => `\\x{${point.toString(16)}}`,
  start: '\\A',
  end: '\\z',
  boundary: '\\b',
  noBoundary: '\\B',
}

// biome-ignore format: a table
const ATOMS = [
  'a', 'b', 'ab', 'c', '.', '[ab]', '[^a]', '\\w', '\\W', '\\s', '\\d', '[a-c]', '\\b', '\\B', '^', '$', '\u{1f600}',
  '\u00e9', '[\u00e9-\u{1f600}]', 'K', '(?:)', ' ', '[^\\s\\S]',
]
const REPEATS = ['*', '+', '?', '*?', '{2}', '{0}', '{1,3}', '{0,}', '{2,}', '{0,3}', '{3}']
// biome-ignore format: a table
const CHARACTERS = [
  'a', 'a', 'b', 'b', 'c', 'k', 'K', '\u212a', '\u00e9', '\u00c9', '\u{1f600}', '\u{1f601}', ' ', '5', '\n', '_', '\u{10fff}',
]

/** Every way in which parts can stand in each other, empty ones and anchors too. */
function drawSource(random: Random, depth: number): string {
  const fate = random.next()
  if (depth === 0 || fate < 0.35) return random.pick(ATOMS)
  const inner = drawSource(random, depth - 1)
  if (fate < 0.6) return inner + drawSource(random, depth - 1)
  if (fate < 0.75) return `(${inner}|${drawSource(random, depth - 1)})`
  return fate < 0.8 ? `(?:${inner}|)` : `(?:${inner})${random.pick(REPEATS)}`
}

function drawAny(random: Random, text: string): Pattern {
  if (random.chance(0.3)) return drawPattern(random, text)
  try {
    return parsePattern(drawSource(random, 4), { ignoreCase: random.chance(0.3) })
  } catch (thrown) {
    if (thrown instanceof PatternFault) return { kind: 'text', text }
    throw thrown
  }
}

const drawText = (random: Random): string =>
  Array.from({ length: random.integer(0, 14) }, () => random.pick(CHARACTERS)).join('')

const [PATTERNS, TEXTS] = [600, 10]

test('finds what two other engines find, in whichever way it works', { timeout: 60_000 }, () => {
  const random = createRandom(seedOf(20_26))
  const different: unknown[] = []
  let matches = 0
  for (let i = 0; i < PATTERNS; i++) {
    const texts = Array.from({ length: TEXTS }, () => drawText(random))
    const pattern = drawAny(random, texts[0] ?? '')
    const re2 = RE2JS.compile(printPattern(pattern, RE2))
    const native = new RegExp(printPattern(pattern, JAVASCRIPT), 'u')
    const matcher = compilePattern(pattern)
    const machines = [MACHINE_BYTES, 0].map((bytes) => new Machine(pattern, () => {}, bytes))
    for (const text of texts) {
      const isMatch = matcher.test(text)
      if (isMatch) matches++
      const search = matcher.search(text)
      let paused = search.goOn({ left: 0.01 })
      while (paused === undefined) paused = search.goOn({ left: 0.01 })
      const ofMachines = machines.map((machine) => machine.run({ text, at: 0, set: undefined }, endless()))
      // Of the native engine \B holds inside a surrogate pair too.
      const isSplit = native.source.includes('\\B') && /[\u{10000}-\u{10ffff}]/u.test(text)
      const answers = [re2.test(text), isSplit ? isMatch : native.test(text), paused, ...ofMachines]
      if (answers.some((answer) => answer !== isMatch))
        different.push([native.source, text, isMatch, answers])
    }
  }
  expect(different).toEqual([])
  expect(matches / (PATTERNS * TEXTS)).toBeGreaterThan(0.3)
  expect(matches / (PATTERNS * TEXTS)).toBeLessThan(0.9)
})

const HALVES = [
  '\ud83d',
  '\ude00',
  '\u{1f600}',
  '\udbff',
  'a',
  'a',
  'b',
  'K',
  ' ',
  '\n',
  '\u017f',
  '\u0130',
  'i',
]

test('the machine and regular expressions of the runtime agree, even on halves of surrogate pairs', () => {
  const random = createRandom(seedOf(20_27))
  const different: unknown[] = []
  const native = vi.spyOn(RegExp.prototype, 'test')
  for (let i = 0; i < PATTERNS; i++) {
    const pattern = drawAny(random, 'ab')
    const matcher = compilePattern(pattern)
    const machine = new Machine(pattern, () => {})
    for (let j = 0; j < TEXTS; j++) {
      const text = Array.from({ length: random.integer(0, 40) }, () => random.pick(HALVES)).join('')
      const isMatch = machine.run({ text, at: 0, set: undefined }, endless())
      if (matcher.test(text) !== isMatch) different.push([printPattern(pattern, JAVASCRIPT), text, isMatch])
    }
  }
  const searches = native.mock.contexts.filter((one) => (one as RegExp).unicode).length
  native.mockRestore()
  expect(different).toEqual([])
  expect(searches / (PATTERNS * TEXTS)).toBeGreaterThan(0.2)
})
