import { type AST, RegExpParser } from '@eslint-community/regexpp'
import { invertRanges, normaliseRanges, type Range, WORD_RANGES } from './code-points.js'
import type { Pattern } from './pattern.js'

/** The reason why a string is not a portable pattern. */
export class PatternFault extends Error {}

/**
 * Parses a portable pattern (CONTRACT.md §3.5). Throws `PatternFault` for syntax outside the portable core.
 */
export const readSyntax = (source: string, change?: ChangeRanges): Pattern =>
  convertAlternatives(parseSyntax(source).alternatives, change)

/** Replaces the characters that a pattern names, for example with all their letter cases. */
type ChangeRanges = (ranges: readonly Range[]) => readonly Range[]

function parseSyntax(source: string): AST.Pattern {
  const escaped = source.replace(/\\(.?)/gsu, (sequence, character: string) => {
    if (/^[tnrdDwWsSbB]$/.test(character) || /^[$()*+./?[\\\]^{|}]$/.test(character)) return sequence
    // The strict parser accepts a backslash only before syntax characters.
    if (/^[!-/:-@[-`{-~]$/.test(character)) return `\\x${character.charCodeAt(0).toString(16)}`
    throw new PatternFault(`uses the escape ${JSON.stringify(sequence)}, which is not in the portable core`)
  })
  try {
    return new RegExpParser({ ecmaVersion: 2025 }).parsePattern(escaped, 0, escaped.length, { unicode: true })
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace(/^.*\/u: /s, '') : 'it cannot be parsed'
    throw new PatternFault(`is not a valid pattern: ${reason.toLowerCase()}`)
  }
}

function convertAlternatives(
  alternatives: readonly AST.Alternative[],
  change: ChangeRanges | undefined,
): Pattern {
  const parts = alternatives.map(({ elements }) =>
    joinText(elements.map((element) => convert(element, change))),
  )
  return (parts.length === 1 && parts[0]) || { kind: 'choice', parts }
}

function convert(node: AST.Element, change: ChangeRanges | undefined): Pattern {
  switch (node.type) {
    case 'Character':
      return convertCharacter(node.value, change)
    case 'CharacterSet':
      return { kind: 'set', ranges: rangesOfSet(node) }
    case 'CharacterClass':
      return convertClass(node, change)
    case 'Group':
    case 'CapturingGroup':
      if (node.type === 'Group' ? node.modifiers : node.name) return refuse(node)
      return convertAlternatives(node.alternatives, change)
    case 'Quantifier':
      return {
        kind: 'repeat',
        part: convert(node.element, change),
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

function convertCharacter(point: number, change: ChangeRanges | undefined): Pattern {
  refuseUnstored(point)
  const ranges = change?.([[point, point]]) ?? []
  const alone = !change || (ranges.length === 1 && ranges[0]?.[0] === point && ranges[0][1] === point)
  return alone ? { kind: 'text', text: String.fromCodePoint(point) } : { kind: 'set', ranges }
}

function refuseUnstored(point: number): void {
  if (point === 0 || (point >= 0xd800 && point <= 0xdfff))
    throw new PatternFault('contains NUL or a lone surrogate, which no stored string contains')
}

function convertClass(node: AST.CharacterClass, change: ChangeRanges | undefined): Pattern {
  if (node.elements.length === 0) return refuse(node)
  const named: Range[] = []
  const sets: Range[] = []
  for (const element of node.elements) {
    switch (element.type) {
      case 'Character':
        // Inside a class, the backspace character can only come from the escape \b.
        if (element.value === 8) return refuse(node)
        refuseUnstored(element.value)
        named.push([element.value, element.value])
        break
      case 'CharacterClassRange':
        refuseUnstored(element.min.value)
        refuseUnstored(element.max.value)
        named.push([element.min.value, element.max.value])
        break
      case 'CharacterSet':
        sets.push(...rangesOfSet(element))
        break
      default:
        return refuse(node)
    }
  }
  const ranges = normaliseRanges([...(change?.(named) ?? named), ...sets])
  return { kind: 'set', ranges: node.negate ? invertRanges(ranges) : ranges }
}

const SETS: { readonly [kind: string]: readonly Range[] } = {
  digit: [[0x30, 0x39]],
  space: normaliseRanges([
    [0x09, 0x0d],
    [0x20, 0x20],
  ]),
  word: WORD_RANGES,
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
