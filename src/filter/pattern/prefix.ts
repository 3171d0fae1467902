import { LAST } from './syntax/code-points.js'
import type { Pattern } from './syntax/pattern.js'

/** The range of texts that begin with a prefix: from the prefix to below another text; `isAll`: all of them match. */
export interface Prefix {
  readonly from: string
  readonly below: string | undefined
  readonly isAll: boolean
}

/** The prefix that all matches of a pattern begin with; `undefined` if it names none. */
export function prefixOf(pattern: Pattern): Prefix | undefined {
  if (pattern.kind !== 'sequence') return undefined
  const [start, text, ...more] = pattern.parts
  if (start?.kind !== 'start' || text?.kind !== 'text' || text.text === '') return undefined
  return { from: text.text, below: findSuccessor(text.text), isAll: more.length === 0 }
}

const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff]

/** The least text, by code points, that is above all texts with a prefix; `undefined` if there is none. */
function findSuccessor(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === LAST) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  const next = last + 1 === FIRST_SURROGATE ? LAST_SURROGATE + 1 : last + 1
  return String.fromCodePoint(...points, next)
}
