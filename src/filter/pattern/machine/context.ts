/** The sides of a place in a text: no character, a character of an ASCII word (`WORD`), or an `OTHER`. */
export const EDGE = 0
/** See `EDGE`. */
export const OTHER = 1
/** See `EDGE`. */
export const WORD = 2
/** One side of a place. */
export type Side = typeof EDGE | typeof OTHER | typeof WORD

/** A set of contexts, as bits. The context of a place is the pair of its sides. */
export type Contexts = number

/** The bit of a context. */
export const bitOf = (before: Side, after: Side): number => 3 * before + after

/** All sides, in the order of their bits. */
export const SIDES = [EDGE, OTHER, WORD] as const

const gather = (holds: (before: Side, after: Side) => boolean): Contexts => {
  let contexts = 0
  for (const before of SIDES)
    for (const after of SIDES) if (holds(before, after)) contexts |= 1 << bitOf(before, after)
  return contexts
}

/** No context. */
export const NOWHERE: Contexts = 0
/** Every context. */
export const ANYWHERE = gather(() => true)
/** The start of the text. */
export const AT_START = gather((before) => before === EDGE)
/** The end of the text. */
export const AT_END = gather((_, after) => after === EDGE)
/** The boundary of an ASCII word. */
export const AT_BOUNDARY = gather((before, after) => (before === WORD) !== (after === WORD))
/** Every place before a character. */
export const BEFORE_CHARACTER = ANYWHERE & ~AT_END
/** Every place after a character. */
export const BEHIND_CHARACTER = ANYWHERE & ~AT_START
