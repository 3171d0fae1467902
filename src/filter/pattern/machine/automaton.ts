import { type Range, WORD_RANGES } from '../syntax/code-points.js'
import type { Pattern } from '../syntax/pattern.js'
import { toWords } from './bit-sets.js'
import { type CharacterClasses, divide } from './character-classes.js'
import { AT_START, bitOf, type Contexts, EDGE, NOWHERE, OTHER, SIDES, type Side, WORD } from './context.js'
import { findPositions } from './positions.js'
import { sortSteps } from './steps.js'

/**
 * A pattern as bit sets over its positions. A search holds the set of its possible positions, with the kind
 * of the last character as the last word.
 */
export interface Automaton {
  /** The words of a set. */
  readonly size: number
  /** The set at the start of every search. */
  readonly start: Int32Array
  readonly classes: CharacterClasses
  /** Whether a match may end at `set`, before a character of a class or, without one, at the text's end. */
  isEnd(set: Int32Array, characterClass?: number): boolean
  /** Writes to `to` the set after `from` and a character of a class. False if nothing can follow. */
  step(from: Int32Array, to: Int32Array, characterClass: number): boolean
  /** The cost of `isEnd` and `step` together, in operations on a word. */
  readonly cost: number
  /** The cost of building it, in the same unit. */
  readonly effort: number
  readonly bytes: number
}

/** Compiles a pattern. */
export function compileAutomaton(pattern: Pattern): Automaton {
  const { takes, follow, ends, asksForWords } = findPositions(pattern)
  const width = Math.ceil(takes.length / 32)
  const { classes, masks, sides } = maskClasses(takes, width, asksForWords)
  const { stay, shift, jumps } = sortSteps(follow, width)
  const finals = findFinals(ends, width)
  // A match can begin at every place in the text.
  const begins = [ends[0] ?? NOWHERE, ...(follow[0]?.values() ?? [])]
  const restart = begins.some((contexts) => (contexts & ~AT_START) !== 0) ? 1 : 0

  const sideOfClass = (characterClass: number): Side => (sides[characterClass] ?? OTHER) as Side
  const sideOf = (set: Int32Array): Side => (set[width] ?? EDGE) as Side
  const meets = (set: Int32Array, from: number, to: number): boolean => {
    for (let i = from; i < to; i += 2)
      if (((set[jumps[i] ?? 0] ?? 0) & (jumps[i + 1] ?? 0)) !== 0) return true
    return false
  }

  return {
    size: width + 1,
    start: toWords([0], width + 1),
    classes,
    isEnd(set, characterClass) {
      const after = characterClass === undefined ? EDGE : sideOfClass(characterClass)
      const words = finals[bitOf(sideOf(set), after)]
      if (words) for (let i = 0; i < width; i++) if (((set[i] ?? 0) & (words[i] ?? 0)) !== 0) return true
      return false
    },
    step(from, to, characterClass) {
      const side = sideOfClass(characterClass)
      const context = 1 << bitOf(sideOf(from), side)
      const mask = characterClass * width
      let carry = 0
      let rest = restart
      for (let i = 0; i < width; i++) {
        const word = from[i] ?? 0
        const moved = word & (shift[i] ?? 0)
        const reached = ((word & (stay[i] ?? 0)) | (moved << 1) | carry) & (masks[mask + i] ?? 0)
        carry = moved >>> 31
        to[i] = reached
        rest |= reached
      }
      for (let at = 0; at < jumps.length; ) {
        const sources = jumps[at + 1] ?? 0
        const targets = jumps[at + 2] ?? 0
        if (((jumps[at] ?? 0) & context) !== 0 && meets(from, at + 3, sources)) {
          for (let i = sources; i < targets; i += 2) {
            const word = jumps[i] ?? 0
            const reached = (jumps[i + 1] ?? 0) & (masks[mask + word] ?? 0)
            to[word] = (to[word] ?? 0) | reached
            rest |= reached
          }
        }
        at = targets
      }
      to[0] = (to[0] ?? 0) | restart
      to[width] = side
      return rest !== 0
    },
    cost: 24 + 4 * width + jumps.length / 2,
    effort: EFFORT_PER_PAIR * (100 + follow.reduce((total, next) => total + 1 + next.size, classes.count)),
    bytes: classes.bytes + sides.length + 4 * (masks.length + jumps.length + (2 + finals.length) * width),
  }
}

/** The cost of building the step from one position to another. */
const EFFORT_PER_PAIR = 600

/** For each context, by its bit: the positions at which a match may end there, if any. */
const findFinals = (ends: readonly Contexts[], width: number): readonly (Int32Array | undefined)[] =>
  SIDES.flatMap((before) =>
    SIDES.map((after) => {
      const context = 1 << bitOf(before, after)
      const positions = findEnds(ends, context)
      return positions.length === 0 ? undefined : toWords(positions, width)
    }),
  )

const findEnds = (ends: readonly Contexts[], context: Contexts): readonly number[] =>
  [...ends.keys()].filter((position) => ((ends[position] ?? NOWHERE) & context) !== 0)

/** Divides characters into classes, and finds for each class the positions that accept it. */
function maskClasses(takes: readonly (readonly Range[])[], width: number, withWords: boolean) {
  const bySet = new Map<readonly Range[], number[]>()
  takes.forEach((ranges, position) => {
    if (position === 0) return
    const known = bySet.get(ranges)
    if (known) known.push(position)
    else bySet.set(ranges, [position])
  })
  const { classes, bySet: classesOf } = divide([...bySet.keys(), ...(withWords ? [WORD_RANGES] : [])])
  const masks = new Int32Array(classes.count * width)
  ;[...bySet.values()].forEach((positions, set) => {
    const taken = toWords(positions, width)
    for (const characterClass of classesOf[set] ?? []) {
      taken.forEach((word, i) => {
        masks[characterClass * width + i] = (masks[characterClass * width + i] ?? 0) | word
      })
    }
  })
  const words = new Set(withWords ? classesOf.at(-1) : [])
  const sides = Uint8Array.from({ length: classes.count }, (_, name) => (words.has(name) ? WORD : OTHER))
  return { classes, masks, sides }
}
