import { type AST, RegExpParser } from '@eslint-community/regexpp'
import { foldRanges, invertRanges, normaliseRanges, type Range } from './code-points.js'
import type { Pattern } from './pattern.js'

/** Contract §3.5: characters of a pattern. */
const MAX_CHARACTERS = 512
/** Contract §3.5: nodes of a pattern after expanding repeats. */
const MAX_NODES = 1000

/** Why a text is no portable pattern. */
export class PatternFault extends Error {}

/** Parses a portable pattern (contract §3.5). Throws `PatternFault` for anything outside the portable core. */
export function parsePattern(source: string, options: { readonly ignoreCase: boolean }): Pattern {
  if ([...source].length > MAX_CHARACTERS)
    throw new PatternFault(`is longer than ${MAX_CHARACTERS} characters`)
  const pattern = convertAlternatives(parseSyntax(source).alternatives, options.ignoreCase)
  if (countNodes(pattern) > MAX_NODES) {
    throw new PatternFault(`has more than ${MAX_NODES} nodes once its repeats are written out`)
  }
  return pattern
}

function parseSyntax(source: string): AST.Pattern {
  const escaped = source.replace(/\\(.?)/gsu, (sequence, character: string) => {
    if (/^[tnrdDwWsSbB]$/.test(character) || /^[$()*+./?[\\\]^{|}]$/.test(character)) return sequence
    // The parser, in its strict mode, takes a backslash before syntax characters only.
    if (/^[!-/:-@[-`{-~]$/.test(character)) return `\\x${character.charCodeAt(0).toString(16)}`
    throw new PatternFault(`uses the escape ${JSON.stringify(sequence)}, which is not in the portable core`)
  })
  try {
    return new RegExpParser({ ecmaVersion: 2025 }).parsePattern(escaped, 0, escaped.length, { unicode: true })
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace(/^.*\/u: /s, '') : 'it cannot be parsed'
    throw new PatternFault(`is no valid pattern: ${reason.toLowerCase()}`)
  }
}

function convertAlternatives(alternatives: readonly AST.Alternative[], fold: boolean): Pattern {
  const parts = alternatives.map(({ elements }) =>
    joinText(elements.map((element) => convert(element, fold))),
  )
  return (parts.length === 1 && parts[0]) || { kind: 'choice', parts }
}

function convert(node: AST.Element, fold: boolean): Pattern {
  switch (node.type) {
    case 'Character':
      return convertCharacter(node.value, fold)
    case 'CharacterSet':
      return { kind: 'set', ranges: rangesOfSet(node) }
    case 'CharacterClass':
      return convertClass(node, fold)
    case 'Group':
    case 'CapturingGroup':
      if (node.type === 'Group' ? node.modifiers : node.name) return refuse(node)
      return convertAlternatives(node.alternatives, fold)
    case 'Quantifier':
      return {
        kind: 'repeat',
        part: convert(node.element, fold),
        min: node.min,
        max: node.max === Number.POSITIVE_INFINITY ? null : node.max,
      }
    case 'Assertion':
      if (node.kind === 'start' || node.kind === 'end') return { kind: node.kind }
      if (node.kind === 'word') return { kind: 'boundary', negated: node.negate }
      return refuse(node)
    default:
      return refuse(node)
  }
}

function refuse(node: AST.Node): never {
  throw new PatternFault(`uses ${JSON.stringify(node.raw.slice(0, 20))}, which is not in the portable core`)
}

function convertCharacter(point: number, fold: boolean): Pattern {
  refuseNul(point)
  const ranges = fold ? foldRanges([[point, point]]) : []
  const alone = ranges.length === 0 || (ranges.length === 1 && ranges[0]?.[0] === ranges[0]?.[1])
  return alone ? { kind: 'text', text: String.fromCodePoint(point) } : { kind: 'set', ranges }
}

function refuseNul(point: number): void {
  if (point === 0) throw new PatternFault('contains NUL, which no stored text does')
}

function convertClass(node: AST.CharacterClass, fold: boolean): Pattern {
  if (node.elements.length === 0) return refuse(node)
  const ranges = node.elements.flatMap((element): readonly Range[] => {
    switch (element.type) {
      case 'Character':
        // Only the escape \b stands for this character inside a class.
        if (element.value === 8) return refuse(node)
        refuseNul(element.value)
        return foldIf(fold, [[element.value, element.value]])
      case 'CharacterClassRange':
        refuseNul(element.min.value)
        return foldIf(fold, [[element.min.value, element.max.value]])
      case 'CharacterSet':
        return rangesOfSet(element)
      default:
        return refuse(node)
    }
  })
  return { kind: 'set', ranges: node.negate ? invertRanges(ranges) : normaliseRanges(ranges) }
}

const foldIf = (fold: boolean, ranges: readonly Range[]): readonly Range[] =>
  fold ? foldRanges(ranges) : ranges

const SETS: { readonly [kind: string]: readonly Range[] } = {
  digit: [[0x30, 0x39]],
  space: normaliseRanges([
    [0x09, 0x0d],
    [0x20, 0x20],
  ]),
  word: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
}

function rangesOfSet(node: AST.CharacterSet): readonly Range[] {
  if (node.kind === 'any') return invertRanges([[0x0a, 0x0a]])
  const ranges = SETS[node.kind]
  if (!ranges || node.kind === 'property') return refuse(node)
  return node.negate ? invertRanges(ranges) : ranges
}

function joinText(parts: readonly Pattern[]): Pattern {
  const joined: Pattern[] = []
  for (const part of parts) {
    const previous = joined.at(-1)
    if (part.kind === 'text' && previous?.kind === 'text') {
      joined[joined.length - 1] = { kind: 'text', text: previous.text + part.text }
    } else joined.push(part)
  }
  if (joined.length === 0) return { kind: 'text', text: '' }
  return (joined.length === 1 && joined[0]) || { kind: 'sequence', parts: joined }
}

function countNodes(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'text':
      return [...pattern.text].length
    case 'sequence':
    case 'choice':
      return pattern.parts.reduce(
        (total, part) => total + countNodes(part),
        pattern.kind === 'choice' ? 1 : 0,
      )
    case 'repeat':
      return Math.max(1, countNodes(pattern.part)) * Math.max(1, pattern.max ?? pattern.min)
    default:
      return 1
  }
}
