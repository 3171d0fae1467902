import type { Pattern } from '../../../filter/pattern/syntax/pattern.js'
import { PatternFault } from '../../../filter/pattern/syntax/read-syntax.js'
import { parsePattern } from '../check/parse-pattern.js'
import type { Random } from './random.js'

const SETS = [
  '.',
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '[a-z]',
  '[^a-z]',
  '[A-Z\\d]',
  '[^\\n]',
  '[\u00c0-\u024f]',
  '[\ud7ff-\u{10fff}]',
]
const MARKS = ['^', '$', '\\b', '\\B']
const REPEATS = ['*', '+', '?', '*?', '+?', '{0}', '{2}', '{1,2}', '{0,3}', '{2,}', '{0,300}']

const quote = (text: string): string =>
  text
    .replace(/[$()*+./?[\\\]^{|}]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')

function drawAtom(random: Random, text: string, depth: number): string {
  const fate = random.next()
  if (fate < 0.5) {
    const points = [...text]
    const start = random.integer(0, Math.max(0, points.length - 1))
    return quote(points.slice(start, start + random.integer(1, 3)).join(''))
  }
  if (fate < 0.75 || depth === 0) return random.pick(SETS)
  const choices = Array.from({ length: random.integer(1, 3) }, () => drawSource(random, text, depth - 1))
  return `(${random.pick(['', '?:'])}${choices.join('|')})`
}

function drawSource(random: Random, text: string, depth: number): string {
  const parts = Array.from({ length: random.integer(1, 3) }, () => {
    if (random.chance(0.12)) return random.pick(MARKS)
    const atom = drawAtom(random, text, depth)
    if (!random.chance(0.3)) return atom
    return `${[...atom].length > 1 && !/^[([]/.test(atom) ? `(?:${atom})` : atom}${random.pick(REPEATS)}`
  })
  return parts.join('')
}

/** Draws a portable pattern that is likely to match a part of a text. */
export function drawPattern(random: Random, text: string): Pattern {
  const source = `${random.chance(0.25) ? '^' : ''}${drawSource(random, text, 2)}${random.chance(0.25) ? '$' : ''}`
  try {
    return parsePattern(source, { ignoreCase: random.chance(0.4) })
  } catch (thrown) {
    // The pattern repeats an anchor, or is too large.
    if (thrown instanceof PatternFault) return { kind: 'text', text }
    throw thrown
  }
}
