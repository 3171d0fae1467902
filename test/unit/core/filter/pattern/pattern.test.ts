import { describe, expect, test } from 'vitest'
import { compilePattern } from '../../../../../src/core/filter/pattern/compile-pattern.js'
import { parsePattern } from '../../../../../src/core/filter/pattern/parse-pattern.js'
import { createPatternStore } from '../../../../../src/core/filter/pattern/pattern-store.js'
import type { Pattern } from '../../../../../src/core/filter/pattern/syntax/pattern.js'
import { PatternFault } from '../../../../../src/core/filter/pattern/syntax/read-syntax.js'
import { useCaches } from '../../../../support/caches.js'

useCaches()

// CONTRACT.md §3.5

const parse = (source: string, ignoreCase = false): Pattern => parsePattern(source, { ignoreCase })

const matches = (source: string, text: string, ignoreCase = false): boolean =>
  compilePattern(parse(source, ignoreCase)).test(text)

describe('the portable core is accepted', () => {
  test.each([
    '',
    'abc',
    'ä\u{1f600}',
    '\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\^\\$\\|\\\\\\/',
    '\\-\\_\\!\\"\\#\\%\\&\\\'\\,\\:\\;\\<\\=\\>\\@\\`\\~',
    '\\t\\n\\r',
    '.',
    '[abc]',
    '[^abc]',
    '[a-z0-9_]',
    '[\\d\\s-]',
    '[\\]\\-\\^]',
    '[.*+?(){}|$]',
    '\\d\\D\\w\\W\\s\\S',
    '\\bword\\B',
    '(a)(?:b)',
    '()',
    '(?:)',
    'a|b|',
    '|',
    'a*b+c?',
    'a*?b+?c??',
    'a{2}b{2,}c{2,3}d{0}e{0,1}',
    'a{2}?b{2,3}?',
    '(?:a|b)*',
    '((a*)*)*',
    '^',
    '$',
    '^$',
    'a^b$c',
    '(^a|b$)',
  ])('%j', (source) => {
    for (const ignoreCase of [false, true]) {
      expect(compilePattern(parse(source, ignoreCase)).test('no match needed')).toEqual(expect.any(Boolean))
    }
  })
})

describe('anything else is refused', () => {
  test.each([
    ['an open group', '('],
    ['a closed one', 'a)'],
    ['an open class', '[a'],
    ['a lone bracket', ']'],
    ['a lone brace', 'a{'],
    ['a brace of nothing', '}'],
    ['half a repeat', 'a{2'],
    ['no minimum', 'a{,2}'],
    ['bounds the wrong way round', 'a{2,1}'],
    ['a repeat of nothing', '*a'],
    ['a repeat of a repeat', 'a**'],
    ['a possessive repeat', 'a++'],
    ['a repeat of an anchor', '^*'],
    ['a repeat of a boundary', '\\b+'],
    ['a range the wrong way round', '[z-a]'],
    ['a range of classes', '[\\d-z]'],
    ['an empty class', '[]'],
    ['its negation', '[^]'],
    ['a class of JavaScript sets', '[a&&b]{2'],
    ['lookahead', '(?=a)'],
    ['negative lookahead', '(?!a)'],
    ['lookbehind', '(?<=a)'],
    ['negative lookbehind', '(?<!a)'],
    ['a named group', '(?<name>a)'],
    ['a named group of Python', '(?P<name>a)'],
    ['flags', '(?i)a'],
    ['flags of a group', '(?i:a)'],
    ['an atomic group', '(?>a)'],
    ['a comment', '(?#a)'],
    ['a back reference', '(a)\\1'],
    ['a named reference', '(?<a>b)\\k<a>'],
    ['a code point in hexadecimal', '\\x61'],
    ['a code unit', '\\u0061'],
    ['a code point', '\\u{61}'],
    ['a control character', '\\cA'],
    ['NUL', '\\0'],
    ['NUL as it is', '\u0000'],
    ['NUL in a class', '[\u0000]'],
    ['NUL in a range', '[\u0000-a]'],
    ['a property', '\\p{L}'],
    ['its negation', '\\P{L}'],
    ['a POSIX class', '\\[[:alpha:]]]'],
    ['vertical tab', '\\v'],
    ['form feed', '\\f'],
    ['the start of the text, in other engines', '\\Aa'],
    ['its end', 'a\\z'],
    ['a quotation', '\\Qa\\E'],
    ['backspace', '[\\b]'],
    ['a boundary in a class', '[\\B]'],
    ['an escaped letter', '\\a'],
    ['an escaped digit', '\\8'],
    ['an escaped space', '\\ '],
    ['an escaped letter beyond ASCII', '\\ä'],
    ['a backslash at the end', 'a\\'],
    ['half of a surrogate pair', '\ud83d'],
    ['half of one in a class', '[\udc00]'],
    ['half of one in a range', '[a-\udfff]'],
  ])('%s', (_, source) => {
    for (const ignoreCase of [false, true]) expect(() => parse(source, ignoreCase)).toThrow(PatternFault)
  })
})

describe('limits', () => {
  test('512 characters, counted in code points', () => {
    expect(() => parse('a'.repeat(512))).not.toThrow()
    expect(() => parse('\u{1f600}'.repeat(512))).not.toThrow()
    expect(() => parse('a'.repeat(513))).toThrow(PatternFault)
  })
  test.each<[string, boolean]>([
    ['a{1000}', true],
    ['a{1001}', false],
    ['a{0,1000}', true],
    ['a{0,1001}', false],
    ['a{1000,}', true],
    ['a{1001,}', false],
    ['(a{10}){100}', true],
    ['(a{10}){101}', false],
    ['(?:ab){500}', true],
    ['(?:abc){500}', false],
    ['((a{10}){10}){11}', false],
    ['(?:(?:a{1000}){1000}){1000}', false],
    ['a{99999999999999999999}', false],
    ['(?:){1001}', false],
    ['(?:a*)*', true],
    ['[a-z]{1000}', true],
    ['[a-z]{1000}b', false],
    ['.{500}.{500}', true],
  ])('1,000 nodes after expanding repeats: %s', (source, isAccepted) => {
    const attempt = () => compilePattern(parse(source))
    if (isAccepted) expect(attempt).not.toThrow()
    else expect(attempt).toThrow(PatternFault)
  })
})

/** `count` characters that are no syntax, joined. */
const letters = (count: number, by = ''): string =>
  Array.from({ length: count }, (_, i) => String.fromCodePoint(0x4e00 + i)).join(by)

describe('20,000 pairs of nodes of which one can follow the other', () => {
  test.each<[string, boolean]>([
    [`(?:${letters(141, '|')})*`, true],
    [`(?:${letters(142, '|')})*`, false],
    [`(?:${letters(142, '|')})`, true],
    [`(?:${letters(142, '|')}){2}`, false],
    // Nested loops add nothing.
    [`${'(?:'.repeat(50)}${letters(100, '|')}${')*'.repeat(50)}`, true],
    [`${letters(199, '?')}?`, true],
    [`${letters(201, '?')}?`, false],
    [`${letters(202, '*')}`, false],
    // Where one can't follow the other, they are no pair.
    [`(?:(?:${letters(150, '|')})$)*`, true],
    [`(?:^(?:${letters(150, '|')}))*`, true],
    // Copies of an optional part follow one another, and none is passed over.
    ['a{0,1000}', true],
    ['(?:a?){1000}', true],
    ['((a?){30}){30}b', true],
    ['(?:a?b?c?){300}', true],
    ['^(?:a?){200}a{200}$', true],
    ['(?:^|a){200}', true],
    ['(?:\\b|a){300}', false],
  ])('%s', (source, isAccepted) => {
    const attempt = () => compilePattern(parse(source)).test('a')
    if (isAccepted) expect(attempt).not.toThrow()
    else expect(attempt).toThrow(PatternFault)
  })
})

describe('what a store has read is kept', () => {
  const createReader = () => {
    const store = createPatternStore()
    return (source: string, ignoreCase = false): Pattern => store.parse(source, { ignoreCase })
  }

  test('by its text and its case', () => {
    const read = createReader()
    expect(read('kept+')).toBe(read('kept+'))
    expect(read('kept+', true)).toBe(read('kept+', true))
    expect(read('kept+', true)).not.toEqual(read('kept+'))
    expect(compilePattern(read('kept+'))).toBe(compilePattern(read('kept+')))
  })

  test('as long as there is room', () => {
    const read = createReader()
    const first = read('forgotten+')
    for (let i = 0; i < 8000; i++) read(`room${i}+`)
    expect(read('forgotten+')).not.toBe(first)
    expect(read('forgotten+')).toEqual(first)
  })

  test('apart from what another store has read', () => {
    expect(createReader()('kept+')).not.toBe(createReader()('kept+'))
  })

  test('and is JSON like any other', () => {
    const pattern = createReader()('kept+')
    expect(pattern).toEqual(parse('kept+'))
    expect(Reflect.ownKeys({ ...pattern })).toEqual(Reflect.ownKeys(parse('kept+')))
  })
})

describe('meaning', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['', ['', 'a'], []],
    ['b', ['b', 'abc'], ['', 'B', 'ac']],
    ['a.c', ['abc', 'a\u{1f600}c', 'a\rc', 'a\u2028c'], ['ac', 'a\nc', 'abbc']],
    ['^a', ['a', 'ab'], ['ba', 'b\na']],
    ['a$', ['a', 'ba'], ['ab', 'a\n', 'a\nb']],
    ['^a$', ['a'], ['', 'aa', 'a\n', '\na', 'b\na\nb']],
    ['^$', [''], ['\n', 'a']],
    ['[abc]', ['a', 'xc'], ['', 'd', 'A']],
    ['[^abc]', ['d', '\n', '\u{1f600}'], ['', 'abc']],
    ['^[^\\n]$', ['\u{1f600}', 'a'], ['\n', 'aa']],
    ['[a-c]', ['b'], ['d', 'B', '-']],
    ['[a\\-c]', ['-', 'a'], ['b']],
    ['[\\]]', [']'], ['[']],
    ['[.]', ['.'], ['a']],
    ['\\.', ['.'], ['a']],
    ['\\-\\_\\/\\"', ['-_/"'], ['-_/']],
    ['\\t\\n\\r', ['\t\n\r'], ['tnr']],
    ['^\\d$', ['0', '9'], ['a', '٣', '²']],
    ['^\\D$', ['a', '٣'], ['0']],
    ['^\\w$', ['a', 'Z', '0', '_'], ['ä', '-', 'ſ']],
    ['^\\W$', ['ä', '-'], ['a', '_']],
    ['^\\s$', [' ', '\t', '\n', '\r', '\v', '\f'], ['\u00a0', '\u2028', 'a']],
    ['^\\S$', ['\u00a0', 'a', '\u{1f600}'], [' ', '\n']],
    ['\\bcat\\b', ['cat', 'a cat!', 'äcat'], ['cats', 'concat', 'cat_']],
    ['\\Bcat', ['concat'], ['cat', 'a cat']],
    [
      '\\B',
      ['', 'ab', '\u{1f600}', '\u{1f600}\u{1f601}'],
      ['a', 'a\u{1f600}a', '\u{1f600}a\u{1f600}'.slice(2, 3)],
    ],
    ['a\\B.', ['ab'], ['a\u{1f600}']],
    ['^(?:^a|\\bb|\\Bc)*$', ['', 'a', 'ac', 'b', 'acc'], ['c', 'ab', 'aa']],
    ['(?:^|a){2}b', ['b', 'ab', 'aab'], ['cab', 'cb']],
    ['^(?:a|\\b){3}$', ['a', 'aa', 'aaa'], ['', 'aaaa']],
    ['(ab)+', ['ab', 'xababx'], ['ba', '']],
    ['^(?:ab|cd)$', ['ab', 'cd'], ['abcd', 'ad']],
    ['^a|b$', ['ax', 'xb'], ['xa', 'bx']],
    ['^(|a)$', ['', 'a'], ['aa']],
    ['^a*$', ['', 'aaa'], ['b']],
    ['^a+$', ['a', 'aa'], ['']],
    ['^a?$', ['', 'a'], ['aa']],
    ['^a{2}$', ['aa'], ['a', 'aaa']],
    ['^a{2,}$', ['aa', 'aaaa'], ['a']],
    ['^a{1,2}$', ['a', 'aa'], ['', 'aaa']],
    ['^a{0}$', [''], ['a']],
    ['^a+?$', ['aa'], ['']],
    ['^\u{1f600}{2}$', ['\u{1f600}\u{1f600}'], ['\u{1f600}']],
    ['^[\u{1f600}-\u{1f602}]$', ['\u{1f601}'], ['\u{1f603}', '\ud83d']],
    ['[^\\s\\S]', [], ['', 'a', '\n']],
    ['^[\\s\\S]$', ['a', '\n', '\u{1f600}'], ['', 'aa']],
    ['a^b', [], ['ab', 'a\nb']],
    ['$a', [], ['a', '\na']],
  ])('%j', (source, matching, others) => {
    for (const text of matching) expect(matches(source, text), JSON.stringify(text)).toBe(true)
    for (const text of others) expect(matches(source, text), JSON.stringify(text)).toBe(false)
  })
})

describe('letter case', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['abc', ['ABC', 'aBc'], ['ab']],
    ['[a-c]', ['B'], ['D']],
    ['^[^a]$', ['b', 'B'], ['a', 'A']],
    ['ärger', ['ÄRGER'], ['ARGER']],
    ['straße', ['STRAẞE'], ['STRASSE']],
    ['σ', ['Σ', 'ς'], []],
    ['k', ['K', '\u212a'], []],
    ['s', ['S', 'ſ'], []],
    ['i', ['I'], ['İ', 'ı']],
    ['İ', ['İ'], ['i', 'I', 'ı']],
    ['ı', ['ı'], ['i', 'I', 'İ']],
    ['𐐀', ['𐐨'], []],
    ['ﬁ', ['ﬁ'], ['FI', 'fi']],
    ['\u01c5', ['\u01c4', '\u01c6'], []],
    // ASCII, whatever the case of letters.
    ['^\\w$', ['A', 'a'], ['ſ', '\u212a']],
    ['^\\W$', ['ſ', '\u212a'], ['a']],
    ['\\bs\\b', ['S', 'a S b'], ['aS']],
  ])('%j without regard to it', (source, matching, others) => {
    for (const text of matching) expect(matches(source, text, true), JSON.stringify(text)).toBe(true)
    for (const text of others) expect(matches(source, text, true), JSON.stringify(text)).toBe(false)
  })

  test('it counts unless it is said that it does not', () => {
    expect(matches('abc', 'ABC')).toBe(false)
    expect(matches('[a-z]', 'A')).toBe(false)
  })

  test('the folding is that of JavaScript, for every code point that has case', () => {
    const isCased = (text: string): boolean =>
      text.toLowerCase() !== text || text.toUpperCase() !== text || /^[\p{CWCF}\p{Cased}]$/u.test(text)
    const cased: string[] = []
    for (let point = 1; point <= 0x10ffff; point++) {
      if (point >= 0xd800 && point <= 0xdfff) continue
      const text = String.fromCodePoint(point)
      if (isCased(text)) cased.push(text)
    }
    expect(cased.length).toBeGreaterThan(2800)
    const all = cased.join('')
    const expand = (pattern: Pattern): string => {
      if (pattern.kind === 'text') return pattern.text
      if (pattern.kind !== 'set') throw new Error(`a ${pattern.kind} for one character`)
      return pattern.ranges
        .flatMap(([first, last]) =>
          Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)),
        )
        .join('')
    }
    const different: string[] = []
    for (const text of cased) {
      const expected = [...all.matchAll(new RegExp(`\\u{${text.codePointAt(0)?.toString(16)}}`, 'giu'))].join(
        '',
      )
      if (expand(parse(text, true)) !== [...expected].join('')) different.push(text)
    }
    expect(different).toEqual([])
  })

  test('a pattern is expanded, so that an engine sees none that asks for it', () => {
    const written = JSON.stringify(parse('^Ab[c-d]+$', true))
    expect(written).not.toMatch(/ignore|"i"|flags/i)
    for (const letter of ['A', 'a', 'B', 'b', 'C', 'c', 'D', 'd']) {
      const point = letter.codePointAt(0) ?? 0
      expect(JSON.parse(written)).toSatisfy((pattern: Pattern) => holds(pattern, point))
    }
    expect(JSON.parse(JSON.stringify(parse('a(b|c){2,}\\b', true)))).toEqual(parse('a(b|c){2,}\\b', true))
  })

  function holds(pattern: Pattern, point: number): boolean {
    switch (pattern.kind) {
      case 'set':
        return pattern.ranges.some(([first, last]) => first <= point && point <= last)
      case 'sequence':
      case 'choice':
        return pattern.parts.some((part) => holds(part, point))
      case 'repeat':
        return holds(pattern.part, point)
      default:
        return false
    }
  }
})

describe('matching takes time linear in the text', () => {
  const long = 'a'.repeat(200_000)
  // Each of these takes a backtracking engine longer than the age of the universe.
  test.each<[string, string]>([
    ['nested repeats', '^(a+)+$'],
    ['alternatives that overlap', '^(a|a)*$'],
    ['alternatives of different length', '^(a|aa)+$'],
    ['optional parts', '^(?:a?){200}a{200}$'],
    ['repeats in a row', 'a*a*a*a*a*a*a*a*a*b'],
    ['a repeat around classes', '^(?:[a-z]+[a-y]*)+$'],
  ])('%s', (_, source) => {
    for (const ignoreCase of [false, true]) expect(matches(source, `${long}!`, ignoreCase)).toBe(false)
  })
})
