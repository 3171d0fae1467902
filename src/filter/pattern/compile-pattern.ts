import { RE2JS } from 're2js'
import type { Slice } from '../../slices.js'
import { createBoundedMap } from '../bounded-map.js'
import { type Pattern, type PatternDialect, printPattern } from './pattern.js'

/** Says whether a text contains a match. */
export interface Matcher {
  readonly test: (text: string) => boolean
  /** Begins a search that can pause. */
  search(text: string): TextSearch
}

/** A search through one text: what it has found, or `undefined` where the slice was used up first. */
export interface TextSearch {
  goOn(slice: Slice): boolean | undefined
}

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

const compiled = createBoundedMap<string, Matcher>(256)

/** A search that does not pause. */
const inOneGo = (test: Matcher['test']): Matcher => ({
  test,
  search: (text) => ({
    goOn(slice) {
      slice.left -= 1 + text.length / 8
      return test(text)
    },
  }),
})

/** Compiles a pattern to a matcher whose time is linear in the text, whatever the pattern. */
export function compilePattern(pattern: Pattern): Matcher {
  if (pattern.kind === 'text') {
    const { text } = pattern
    return inOneGo((candidate) => candidate.includes(text))
  }
  const key = printPattern(pattern, RE2)
  const known = compiled.get(key)
  if (known) return known
  const matcher = inOneGo(isBacktrackingFree(pattern) ? compileNative(pattern) : compileLinear(key))
  compiled.set(key, matcher)
  return matcher
}

function compileNative(pattern: Pattern): Matcher['test'] {
  const expression = new RegExp(printPattern(pattern, NATIVE), 'u')
  return (text) => expression.test(text)
}

function compileLinear(source: string): Matcher['test'] {
  const expression = RE2JS.compile(source)
  return (text) => expression.test(text)
}

/** Without a choice or a repeat the native engine, which is several times faster, has nothing to go back to. */
function isBacktrackingFree(pattern: Pattern): boolean {
  if (pattern.kind === 'choice' || pattern.kind === 'repeat') return false
  return pattern.kind !== 'sequence' || pattern.parts.every(isBacktrackingFree)
}
