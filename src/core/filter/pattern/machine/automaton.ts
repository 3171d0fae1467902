import { type Range, WORD_RANGES } from '../syntax/code-points.js'
import type { Pattern } from '../syntax/pattern.js'
import { type CharacterClasses, divide } from './character-classes.js'

/** Converts a set of small numbers to words, with one bit for each number. */
function toWords(members: Iterable<number>, width: number): Int32Array {
  const words = new Int32Array(width)
  for (const member of members) {
    const word = member >> 5
    words[word] = (words[word] ?? 0) | (1 << (member & 31))
  }
  return words
}

/** Returns the words of a set that are not zero, each after its index: `[index, bits, index, bits…]`. */
const toSparse = (members: Iterable<number>, width: number): readonly number[] =>
  [...toWords(members, width)].flatMap((bits, word) => (bits === 0 ? [] : [word, bits]))

/** All sides, in the order of their numbers. */
const SIDES = [0, 1, 2] as const
/** The kind of the character before or after an index in a text. */
type Side = (typeof SIDES)[number]
/** No character (`EDGE`), an ASCII word character (`WORD`), or another (`OTHER`). */
const [EDGE, OTHER, WORD] = SIDES

/** A set of contexts, as bits. The context of an index in a text is the pair of its sides. */
type Contexts = number

/** Returns the number of the bit that represents a context. */
const bitOf = (before: Side, after: Side): number => 3 * before + after

const gather = (holds: (before: Side, after: Side) => boolean): Contexts => {
  let contexts = 0
  for (const before of SIDES)
    for (const after of SIDES) if (holds(before, after)) contexts |= 1 << bitOf(before, after)
  return contexts
}

/** No context. */
const NOWHERE: Contexts = 0
/** Every context. */
const ANYWHERE = gather(() => true)
/** The contexts at the start of the text. */
const AT_START = gather((before) => before === EDGE)
/** The contexts at the end of the text. */
const AT_END = gather((_, after) => after === EDGE)
/** The contexts at the boundary of an ASCII word. */
const AT_BOUNDARY = gather((before, after) => (before === WORD) !== (after === WORD))
/** The contexts before a character. */
const BEFORE_CHARACTER = ANYWHERE & ~AT_END
/** The contexts after a character. */
const BEHIND_CHARACTER = ANYWHERE & ~AT_START

/**
 * A pattern as the positions of a Glushkov automaton: one position for each character that the pattern may
 * match after its repeats are written out, and position 0 before all of them. Anchors and word boundaries
 * between two positions limit the step between them to certain contexts.
 */
interface Positions {
  /** The code points that each position accepts. Position 0 accepts none. */
  readonly takes: readonly (readonly Range[])[]
  /** For each position, the positions that can come next, with the contexts that allow this. */
  readonly follow: readonly ReadonlyMap<number, Contexts>[]
  /** For each position, the contexts in which a match may end there. */
  readonly ends: readonly Contexts[]
  /** Whether the pattern contains a word boundary. */
  readonly asksForWords: boolean
}

/** A position, and the contexts in which it can be the first or the last position of a part of a pattern. */
type Reach = readonly [position: number, contexts: Contexts]

interface PatternFragment {
  readonly first: readonly Reach[]
  readonly last: readonly Reach[]
  /** The contexts in which the part matches the empty string. */
  readonly empty: Contexts
  /** Whether every last position already leads to every first position, so that a loop adds no steps. */
  readonly isLoop: boolean
}

const nothing = (empty: Contexts): PatternFragment => ({ first: [], last: [], empty, isLoop: true })

const hasPositions = ({ first }: PatternFragment): boolean => first.length > 0

/** Finds the positions of a pattern. Calls `onPair`, which may throw, for each pair of successive positions. */
export const findPositions = (pattern: Pattern, onPair: () => void = () => {}): Positions =>
  new PositionFinder(onPair).find(pattern)

class PositionFinder {
  readonly #onPair: () => void
  readonly #takes: (readonly Range[])[] = [[]]
  readonly #follow: Map<number, Contexts>[] = [new Map()]
  #asksForWords = false

  constructor(onPair: () => void) {
    this.#onPair = onPair
  }

  find(pattern: Pattern): Positions {
    const whole = this.#build(pattern)
    this.#connect([[0, ANYWHERE]], whole.first)
    const ends = this.#takes.map(() => NOWHERE)
    for (const [position, contexts] of whole.last) ends[position] = contexts
    ends[0] = whole.empty
    return { takes: this.#takes, follow: this.#follow, ends, asksForWords: this.#asksForWords }
  }

  #build(pattern: Pattern): PatternFragment {
    switch (pattern.kind) {
      case 'text':
        return this.#buildAll([...pattern.text].map(toSet))
      case 'set':
        return this.#take(pattern.ranges)
      case 'start':
        return nothing(AT_START)
      case 'end':
        return nothing(AT_END)
      case 'boundary':
        this.#asksForWords = true
        return nothing(pattern.negated ? ANYWHERE & ~AT_BOUNDARY : AT_BOUNDARY)
      case 'sequence':
        return this.#buildAll(pattern.parts)
      case 'choice': {
        const parts = pattern.parts.map((part) => this.#build(part))
        return {
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap(({ last }) => last),
          empty: parts.reduce((contexts, { empty }) => contexts | empty, NOWHERE),
          isLoop: parts.filter(hasPositions).length < 2 && parts.every(({ isLoop }) => isLoop),
        }
      }
      case 'repeat':
        return this.#repeat(pattern.part, pattern.min, pattern.max)
      default:
        return pattern satisfies never
    }
  }

  #take(ranges: readonly Range[]): PatternFragment {
    const position = this.#takes.push(ranges) - 1
    this.#follow.push(new Map())
    return {
      first: [[position, BEFORE_CHARACTER]],
      last: [[position, BEHIND_CHARACTER]],
      empty: NOWHERE,
      isLoop: false,
    }
  }

  #buildAll(parts: readonly Pattern[]): PatternFragment {
    return parts.reduce((whole, part) => this.#join(whole, this.#build(part)), nothing(ANYWHERE))
  }

  #connect(last: readonly Reach[], first: readonly Reach[]): void {
    for (const [from, behind] of last) {
      const next = this.#follow[from]
      for (const [to, before] of first) {
        const contexts = behind & before
        if (contexts === NOWHERE) continue
        const known = next?.get(to)
        if (known === undefined && from > 0) this.#onPair()
        next?.set(to, (known ?? NOWHERE) | contexts)
      }
    }
  }

  #join(a: PatternFragment, b: PatternFragment): PatternFragment {
    this.#connect(a.last, b.first)
    return {
      first: a.empty === NOWHERE ? a.first : [...a.first, ...restrict(b.first, a.empty)],
      last: b.empty === NOWHERE ? b.last : [...b.last, ...restrict(a.last, b.empty)],
      empty: a.empty & b.empty,
      isLoop: hasPositions(a) ? a.isLoop && !hasPositions(b) : b.isLoop,
    }
  }

  #repeat(part: Pattern, min: number, max: number | null): PatternFragment {
    if (max === 0) return nothing(ANYWHERE)
    const copies = [this.#build(part)]
    // If a part can be empty in every context, it can be empty in each repeat, so all its copies are
    // optional.
    const required = copies[0]?.empty === ANYWHERE ? 0 : min
    const count = max ?? Math.max(required, 1)
    while (copies.length < count) copies.push(this.#build(part))
    const final = copies.pop()
    if (final) copies.push(max === null ? this.#loop(final) : final)
    let whole = nothing(ANYWHERE)
    for (const copy of copies.slice(0, required)) whole = this.#join(whole, copy)
    return this.#joinOptional(whole, copies.slice(required))
  }

  /**
   * Joins copies as in `a(b(b(b)?)?)?`. Each copy follows only the copy before it, which keeps the number of
   * pairs small.
   */
  #joinOptional(a: PatternFragment, copies: readonly PatternFragment[]): PatternFragment {
    if (copies.length === 0) return a
    const first = [...a.first]
    const last = [...a.last]
    let before = a
    for (const copy of copies) {
      this.#connect(before.last, copy.first)
      if (before === a) first.push(...restrict(copy.first, a.empty))
      last.push(...copy.last)
      before = copy
    }
    return { first, last, empty: a.empty, isLoop: copies.length === 1 && !hasPositions(a) && before.isLoop }
  }

  #loop(part: PatternFragment): PatternFragment {
    if (!part.isLoop) this.#connect(part.last, part.first)
    return { ...part, isLoop: true }
  }
}

function toSet(character: string): Pattern {
  const point = character.codePointAt(0) ?? 0
  return { kind: 'set', ranges: [[point, point]] }
}

const restrict = (reaches: readonly Reach[], contexts: Contexts): readonly Reach[] =>
  contexts === ANYWHERE
    ? reaches
    : reaches.flatMap(([position, own]): readonly Reach[] => {
        const both = own & contexts
        return both === NOWHERE ? [] : [[position, both]]
      })

/** The steps between positions, encoded so that one operation makes many steps. */
interface Steps {
  /**
   * The positions that can only be followed by themselves (`stay`) and the next position (`shift`), in every context.
   */
  readonly stay: Int32Array
  readonly shift: Int32Array
  readonly jumps: readonly Jump[]
}

/** All other steps with the same targets. The sets are sparse. */
interface Jump {
  readonly contexts: Contexts
  readonly sources: readonly number[]
  readonly targets: readonly number[]
}

/** Sorts the steps of each position into stays, shifts and jumps. */
function sortSteps(follow: readonly ReadonlyMap<number, Contexts>[], width: number): Steps {
  const stay: number[] = []
  const shift: number[] = []
  const jumps = new Map<string, { contexts: Contexts; sources: number[]; targets: readonly number[] }>()
  follow.forEach((next, from) => {
    const possible = from === 0 ? BEFORE_CHARACTER : BEFORE_CHARACTER & BEHIND_CHARACTER
    const byContexts = new Map<Contexts, number[]>()
    for (const [to, contexts] of next) {
      const key = contexts === possible ? ANYWHERE : contexts
      const targets = byContexts.get(key)
      if (targets) targets.push(to)
      else byContexts.set(key, [to])
    }
    for (const [contexts, targets] of byContexts) {
      if (contexts === ANYWHERE && targets.every((to) => to === from || to === from + 1)) {
        if (targets.includes(from)) stay.push(from)
        if (targets.includes(from + 1)) shift.push(from)
        continue
      }
      const name = `${contexts}:${String.fromCharCode(...targets.sort((a, b) => a - b))}`
      const jump = jumps.get(name) ?? { contexts, sources: [], targets: toSparse(targets, width) }
      jump.sources.push(from)
      jumps.set(name, jump)
    }
  })
  return {
    stay: toWords(stay, width),
    shift: toWords(shift, width),
    jumps: [...jumps.values()].map((jump) => ({ ...jump, sources: toSparse(jump.sources, width) })),
  }
}

/**
 * A pattern as bit sets over its positions. A search stores the set of positions that it may have reached. An
 * additional last word of the set represents the kind of the last character.
 */
export interface Automaton {
  /** The number of words of a set, including the last. */
  readonly size: number
  /** The set at the start of every search. */
  readonly start: Int32Array
  readonly classes: CharacterClasses
  /**
   * Whether a match may end at `set` before a character of this class; without a class, at the end of the
   * text.
   */
  isEnd(set: Int32Array, characterClass?: number): boolean
  /**
   * Writes to `to` the positions after a character of this class, starting from `from`. Returns false if no
   * match can follow.
   */
  step(from: Int32Array, to: Int32Array, characterClass: number): boolean
  /** The cost of one `isEnd` and one `step` combined, in operations on a word. */
  readonly cost: number
  /** The cost of building the automaton, in the same unit. */
  readonly effort: number
  readonly bytes: number
}

/** Compiles a pattern to its automaton. */
export function compileAutomaton(pattern: Pattern): Automaton {
  const { takes, follow, ends, asksForWords } = findPositions(pattern)
  const width = Math.ceil(takes.length / 32)
  const { classes, masks, sides } = maskClasses(takes, width, asksForWords)
  const { stay, shift, jumps } = sortSteps(follow, width)
  const finals = findFinals(ends, width)
  // If a match can begin after the start of the text too, position 0 stays in every set.
  const begins = [ends[0] ?? NOWHERE, ...(follow[0]?.values() ?? [])]
  const restart = begins.some((contexts) => (contexts & ~AT_START) !== 0) ? 1 : 0

  const sideOfClass = (characterClass: number): Side => (sides[characterClass] ?? OTHER) as Side
  const sideOf = (set: Int32Array): Side => (set[width] ?? EDGE) as Side
  const meets = (set: Int32Array, sparse: readonly number[]): boolean => {
    for (let i = 0; i < sparse.length; i += 2)
      if (((set[sparse[i] ?? 0] ?? 0) & (sparse[i + 1] ?? 0)) !== 0) return true
    return false
  }
  const jumpWords = jumps.reduce((total, jump) => total + 3 + jump.sources.length + jump.targets.length, 0)

  return {
    size: width + 1,
    start: toWords([0], width + 1),
    classes,
    isEnd(set, characterClass) {
      const after = characterClass === undefined ? EDGE : sideOfClass(characterClass)
      const words = finals[bitOf(sideOf(set), after)]
      for (let i = 0; i < width; i++) if (((set[i] ?? 0) & (words?.[i] ?? 0)) !== 0) return true
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
      for (const { contexts, sources, targets } of jumps) {
        if ((contexts & context) === 0 || !meets(from, sources)) continue
        for (let i = 0; i < targets.length; i += 2) {
          const word = targets[i] ?? 0
          const reached = (targets[i + 1] ?? 0) & (masks[mask + word] ?? 0)
          to[word] = (to[word] ?? 0) | reached
          rest |= reached
        }
      }
      to[0] = (to[0] ?? 0) | restart
      to[width] = side
      return rest !== 0
    },
    cost: 24 + 4 * width + jumpWords / 2,
    effort: EFFORT_PER_PAIR * (100 + follow.reduce((total, next) => total + 1 + next.size, classes.count)),
    bytes: classes.bytes + sides.length + 4 * (masks.length + 2 * jumpWords + (2 + finals.length) * width),
  }
}

/** The cost of building one step between two positions. */
const EFFORT_PER_PAIR = 600

/** Returns, for each context, the positions at which a match may end. */
const findFinals = (ends: readonly Contexts[], width: number): readonly Int32Array[] =>
  SIDES.flatMap((before) =>
    SIDES.map((after) => {
      const context = 1 << bitOf(before, after)
      return toWords(
        [...ends.keys()].filter((position) => ((ends[position] ?? NOWHERE) & context) !== 0),
        width,
      )
    }),
  )

/** Divides all characters into classes, and finds the positions that accept each class. */
function maskClasses([, ...takes]: readonly (readonly Range[])[], width: number, withWords: boolean) {
  const { classes, classesOf } = divide([...takes, ...(withWords ? [WORD_RANGES] : [])])
  const masks = new Int32Array(classes.count * width)
  takes.forEach((ranges, i) => {
    const [word, bit] = [(i + 1) >> 5, 1 << ((i + 1) & 31)]
    for (const characterClass of classesOf(ranges)) {
      const at = characterClass * width + word
      masks[at] = (masks[at] ?? 0) | bit
    }
  })
  const sides = new Uint8Array(classes.count).fill(OTHER)
  if (withWords) for (const characterClass of classesOf(WORD_RANGES)) sides[characterClass] = WORD
  return { classes, masks, sides }
}
