import { type Automaton, compileAutomaton } from '../../../filter/pattern/machine/automaton.js'
import { divide } from '../../../filter/pattern/machine/character-classes.js'
import { findPositions } from '../../../filter/pattern/machine/positions.js'
import { LAST, type Range, WORD_RANGES } from '../../../filter/pattern/syntax/code-points.js'
import type { Pattern } from '../../../filter/pattern/syntax/pattern.js'
import { compareText } from '../../../json/compare-text.js'

/** Texts of every kind that some patterns and an order tell apart. */
export interface FoundTexts {
  readonly texts: readonly string[]
  /** False if there may be more kinds: the product of the automata has too many states. */
  readonly isWhole: boolean
}

/** The most states of patterns (CONTRACT.md §8, "Diff"). */
export const MAX_STATES = 10_000

/** A pattern at a position in a text: its set of states, or its answer if the rest no longer matters. */
type Reached = Int32Array | boolean

interface Node {
  readonly text: string
  readonly reached: readonly Reached[]
}

/**
 * Finds `count` of the shortest texts for each combination of answers of some patterns and each place between `texts`,
 * breadth first through the product of the automata.
 */
export function findTexts(patterns: readonly Pattern[], texts: readonly string[], count: number): FoundTexts {
  const automata = patterns.map(compileAutomaton)
  const alphabet = findAlphabet(patterns, texts)
  const sorted = [...new Set(texts)].sort(compareText)
  const placeOf = (text: string): string => {
    const next = sorted.findIndex((one) => compareText(text, one) <= 0)
    return `${next < 0 ? sorted.length : next}${sorted[next] === text ? '=' : ''}`
  }
  const begins = new Set(sorted.flatMap((text) => Array.from(text, (_, i) => text.slice(0, i + 1))))
  const keyOf = ({ text, reached }: Node): string => {
    const place = text === '' || begins.has(text) ? JSON.stringify(text) : placeOf(text)
    return `${reached.map((one) => (typeof one === 'boolean' ? one : one.join('.'))).join()}|${place}`
  }
  const visits = new Map<string, number>()
  const found = new Map<string, string[]>()
  let layer: Node[] = [{ text: '', reached: automata.map(({ start }) => start) }]
  while (layer.length > 0) {
    const next: Node[] = []
    for (const node of layer) {
      const key = keyOf(node)
      const visited = visits.get(key) ?? 0
      if (visited >= count) continue
      if (visited === 0 && visits.size >= MAX_STATES)
        return { texts: [...found.values()].flat(), isWhole: false }
      visits.set(key, visited + 1)
      const kind = `${answersOf(automata, node).join()}|${placeOf(node.text)}`
      const known = found.get(kind) ?? []
      if (known.length < count) found.set(kind, [...known, node.text])
      for (const point of alphabet) next.push(append(automata, node, point))
    }
    layer = next
  }
  return { texts: [...found.values()].flat(), isWhole: true }
}

/** The answer of each pattern to a text that ends here. */
const answersOf = (automata: readonly Automaton[], { reached }: Node): readonly boolean[] =>
  automata.map((automaton, i) => {
    const one = reached[i] ?? false
    return typeof one === 'boolean' ? one : automaton.isEnd(one)
  })

const append = (automata: readonly Automaton[], { text, reached }: Node, point: number): Node => ({
  text: text + String.fromCodePoint(point),
  reached: automata.map((automaton, i): Reached => {
    const one = reached[i] ?? false
    if (typeof one === 'boolean') return one
    const characterClass = automaton.classes.classOf(point)
    if (automaton.isEnd(one, characterClass)) return true
    const next = new Int32Array(automaton.size)
    return automaton.step(one, next, characterClass) && next
  }),
})

/** One character of each class that patterns and the order of `texts` tell apart, the most readable first. */
function findAlphabet(patterns: readonly Pattern[], texts: readonly string[]): readonly number[] {
  const positions = patterns.map((pattern) => findPositions(pattern))
  const points = [...new Set(texts.flatMap((text) => Array.from(text, (one) => one.codePointAt(0) ?? 0)))]
  const sets: (readonly Range[])[] = [
    ...positions.flatMap(({ takes }) => takes.filter((ranges) => ranges.length > 0)),
    ...(positions.some(({ asksForWords }) => asksForWords) ? [WORD_RANGES] : []),
    ...points.flatMap((point): Range[][] => [[[point, point]], [[0, point]]]),
  ]
  const { classes } = divide(sets)
  const edges = sets.flat().flatMap(([first, last]) => [first, last, first - 1, last + 1])
  const chosen = new Map<number, number>()
  for (const point of [...READABLE, ...edges, SOME_OTHER]) {
    if (!isStorablePoint(point)) continue
    const name = classes.classOf(point)
    if (!chosen.has(name)) chosen.set(name, point)
  }
  return [...chosen.values()]
}

const READABLE: readonly number[] = Array.from(
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -_.,:;@/!?#$%&()*+<=>[]^`{|}~"\'\\\n\t',
  (character) => character.codePointAt(0) ?? 0,
)

const SOME_OTHER = 0x3b1

/** Neither NUL nor a lone surrogate. */
const isStorablePoint = (point: number): boolean =>
  point > 0 && point <= LAST && (point < 0xd800 || point > 0xdfff)
