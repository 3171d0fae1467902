/** What stands on one side of a place in a text: nothing, a character of an ASCII word, or another. */
export const EDGE = 0
export const OTHER = 1
export const WORD = 2
export type Side = typeof EDGE | typeof OTHER | typeof WORD

/** A set of contexts, as bits. The context of a place is what stands before it and behind it. */
export type Contexts = number

/** Which bit stands for a context. */
export const bitOf = (before: Side, after: Side): number => 3 * before + after

/** In the order of their bits. */
export const SIDES = [EDGE, OTHER, WORD] as const

const gather = (holds: (before: Side, after: Side) => boolean): Contexts => {
  let contexts = 0
  for (const before of SIDES)
    for (const after of SIDES) if (holds(before, after)) contexts |= 1 << bitOf(before, after)
  return contexts
}

export const NOWHERE: Contexts = 0
export const ANYWHERE = gather(() => true)
export const AT_START = gather((before) => before === EDGE)
export const AT_END = gather((_, after) => after === EDGE)
export const AT_BOUNDARY = gather((before, after) => (before === WORD) !== (after === WORD))
export const BEFORE_CHARACTER = ANYWHERE & ~AT_END
export const BEHIND_CHARACTER = ANYWHERE & ~AT_START
