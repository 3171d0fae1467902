import type { Range } from '../syntax/code-points.js'
import type { Pattern } from '../syntax/pattern.js'
import {
  ANYWHERE,
  AT_BOUNDARY,
  AT_END,
  AT_START,
  BEFORE_CHARACTER,
  BEHIND_CHARACTER,
  type Contexts,
  NOWHERE,
} from './context.js'

/**
 * A pattern as its positions (Glushkov): one for each character that it may match once its repeats are
 * written out, and position 0 before all of them. Each step between positions carries the contexts that
 * anchors and word boundaries allow for it.
 */
export interface Positions {
  /** The code points that each position accepts. Position 0 accepts none. */
  readonly takes: readonly (readonly Range[])[]
  /** For each position, those that can come next, and in which contexts. */
  readonly follow: readonly ReadonlyMap<number, Contexts>[]
  /** For each position, the contexts in which a match may end there. */
  readonly ends: readonly Contexts[]
  /** Whether a word boundary occurs in the pattern. */
  readonly asksForWords: boolean
}

/** A position, and the contexts in which it can be the first or the last of a part. */
type Reach = readonly [position: number, contexts: Contexts]

interface PatternFragment {
  readonly first: readonly Reach[]
  readonly last: readonly Reach[]
  /** The contexts in which it matches the empty text. */
  readonly empty: Contexts
  /** Whether each last position already leads to each first one, so that a loop adds nothing. */
  readonly isLoop: boolean
}

const nothing = (empty: Contexts): PatternFragment => ({ first: [], last: [], empty, isLoop: true })

const hasPositions = ({ first }: PatternFragment): boolean => first.length > 0

/** Finds the positions of a pattern. `onPair` is called for each successive pair, and may throw. */
export const findPositions = (pattern: Pattern, onPair: () => void = () => {}): Positions =>
  new PositionFinder(onPair).find(pattern)

class PositionFinder {
  readonly #onPair: () => void
  readonly #takes: (readonly Range[])[] = [[]]
  readonly #follow: Map<number, Contexts>[] = [new Map()]
  readonly #literals = new Map<number, readonly Range[]>()
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
        return this.#takeText(pattern.text)
      case 'set':
        return this.#take(pattern.ranges)
      case 'start':
        return nothing(AT_START)
      case 'end':
        return nothing(AT_END)
      case 'boundary':
        this.#asksForWords = true
        return nothing(pattern.negated ? ANYWHERE & ~AT_BOUNDARY : AT_BOUNDARY)
      case 'sequence': {
        let whole = nothing(ANYWHERE)
        for (const part of pattern.parts) whole = this.#join(whole, this.#build(part))
        return whole
      }
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

  #takeText(text: string): PatternFragment {
    let whole = nothing(ANYWHERE)
    for (const character of text) {
      const point = character.codePointAt(0) ?? 0
      const ranges = this.#literals.get(point) ?? [[point, point]]
      this.#literals.set(point, ranges)
      whole = this.#join(whole, this.#take(ranges))
    }
    return whole
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
    // A part that may be empty everywhere can be empty in each repeat: its copies are optional.
    const required = copies[0]?.empty === ANYWHERE ? 0 : min
    const count = max ?? Math.max(required, 1)
    while (copies.length < count) copies.push(this.#build(part))
    const final = copies.pop()
    if (final) copies.push(max === null ? this.#loop(final) : final)
    let whole = nothing(ANYWHERE)
    for (const copy of copies.slice(0, required)) whole = this.#join(whole, copy)
    return this.#joinOptional(whole, copies.slice(required))
  }

  /** `a(b(b(b)?)?)?`: each copy is entered only from the one before it, which keeps the pairs few. */
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

const restrict = (reaches: readonly Reach[], contexts: Contexts): readonly Reach[] =>
  contexts === ANYWHERE
    ? reaches
    : reaches.flatMap(([position, own]): readonly Reach[] => {
        const both = own & contexts
        return both === NOWHERE ? [] : [[position, both]]
      })
