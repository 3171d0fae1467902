import type { Pattern } from '../syntax/pattern.js'

/** The literal text in a part of a pattern. */
interface Literals {
  /** The one text that the part matches; `undefined` if it matches several. */
  readonly exact: string | undefined
  /** The longest text that every match of the part contains. */
  readonly longest: string
}

const NONE: Literals = { exact: undefined, longest: '' }

const only = (text: string): Literals => ({ exact: text, longest: text })

/** The longest text that every match of a pattern contains: a text without it has no match. */
export const findLiteral = (pattern: Pattern): string => find(pattern).longest

function find(pattern: Pattern): Literals {
  switch (pattern.kind) {
    case 'text':
      return only(pattern.text)
    case 'set': {
      const [[first, last] = [0, 1], ...others] = pattern.ranges
      return first === last && others.length === 0 ? only(String.fromCodePoint(first)) : NONE
    }
    case 'start':
    case 'end':
    case 'boundary':
      return only('')
    case 'sequence':
      return joinAll(pattern.parts.map(find))
    case 'choice':
      return NONE
    case 'repeat': {
      if (pattern.min === 0) return NONE
      const part = find(pattern.part)
      if (part.exact === undefined) return part
      const repeated = part.exact.repeat(pattern.min)
      return { exact: pattern.max === pattern.min ? repeated : undefined, longest: repeated }
    }
    default:
      return pattern satisfies never
  }
}

function joinAll(parts: readonly Literals[]): Literals {
  let longest = ''
  let run = ''
  const offer = (text: string): void => {
    if (text.length > longest.length) longest = text
  }
  for (const part of parts) {
    offer(part.longest)
    run = part.exact === undefined ? '' : run + part.exact
    offer(run)
  }
  return { exact: parts.every(({ exact }) => exact !== undefined) ? run : undefined, longest }
}
