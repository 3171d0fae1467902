import { RE2JS } from 're2js'
import { createBoundedMap } from './bounded-map.js'
import { type Pattern, type PatternDialect, printPattern } from './pattern.js'

/** Says whether a text contains a match. */
export type TextTest = (text: string) => boolean

const NATIVE: PatternDialect = {
  codePoint: (point) => `\\u{${point.toString(16)}}`,
  start: '^',
  end: '$',
  boundary: '\\b',
  noBoundary: '\\B',
}

const RE2: PatternDialect = {
  codePoint: (point) => `\\x{${point.toString(16)}}`,
  start: '\\A',
  end: '\\z',
  boundary: '\\b',
  noBoundary: '\\B',
}

const compiled = createBoundedMap<string, TextTest>(256)

/** Compiles a pattern to a test whose time is linear in the text, whatever the pattern. */
export function compilePattern(pattern: Pattern): TextTest {
  if (pattern.kind === 'text') {
    const { text } = pattern
    return (candidate) => candidate.includes(text)
  }
  const key = printPattern(pattern, RE2)
  const known = compiled.get(key)
  if (known) return known
  const test = isBacktrackingFree(pattern) ? compileNative(pattern) : compileLinear(key)
  compiled.set(key, test)
  return test
}

function compileNative(pattern: Pattern): TextTest {
  const expression = new RegExp(printPattern(pattern, NATIVE), 'u')
  return (text) => expression.test(text)
}

function compileLinear(source: string): TextTest {
  const expression = RE2JS.compile(source)
  return (text) => expression.test(text)
}

/** Without a choice or a repeat the native engine, which is several times faster, has nothing to go back to. */
function isBacktrackingFree(pattern: Pattern): boolean {
  if (pattern.kind === 'choice' || pattern.kind === 'repeat') return false
  return pattern.kind !== 'sequence' || pattern.parts.every(isBacktrackingFree)
}
