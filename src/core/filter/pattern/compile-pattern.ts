import { type BoundedMap, createBoundedMap } from '../../kept/bounded-map.js'
import { type Counted, endless } from '../../slices.js'
import { Machine, type SearchState } from './machine/machine.js'
import { countNodes, countPaths } from './syntax/measure-pattern.js'
import type { Pattern } from './syntax/pattern.js'
import { JAVASCRIPT, printPattern } from './syntax/print-pattern.js'

/** Tests whether a text contains a match of a pattern. */
export interface Matcher {
  readonly test: (text: string) => boolean
  /** Returns the answer if it needs no pause, otherwise a search. */
  readonly begin: Counted<[text: string], boolean | TextSearch>
  /** Starts a search that can pause. */
  search(text: string): TextSearch
}

/** A search through one text. `goOn` returns the answer, or `undefined` when the slice is used up. */
export interface TextSearch {
  readonly goOn: Counted<[], boolean | undefined>
}

/** A cache of machines, with an object for each pattern. The size of a machine is the bytes that it has grown to. */
type KeptMachines = BoundedMap<object, Machine>

/**
 * Creates a cache of machines of at most this many bytes. It has no switch: without it, each text would take a new
 * machine.
 */
export const createMachineCache = (bytes: number): KeptMachines => createBoundedMap({ isOn: true }, bytes)

/**
 * The property that contains the matcher of a pattern. JSON has no symbols, so copies and serialized patterns
 * have no matcher.
 */
const MATCHER = Symbol('matcher')

/** Attaches a matcher to a pattern. `machines` caches the states that searches compute. */
export function attachMatcher(pattern: Pattern, machines: KeptMachines): void {
  Object.defineProperty(pattern, MATCHER, { value: createMatcher(pattern, machines) })
}

/**
 * Returns the matcher attached to a pattern, or creates one. For every pattern, it takes time linear in the
 * length of the text.
 */
export const compilePattern = (pattern: Pattern): Matcher =>
  (pattern as { readonly [MATCHER]?: Matcher })[MATCHER] ??
  createMatcher(pattern, createMachineCache(Number.POSITIVE_INFINITY))

/**
 * The runtime's own regular expressions run a pattern if they take at most about this many operations, even if they
 * try every path through the pattern from every index of the text. This takes at most about 6 ms once the runtime has
 * compiled the expression, and up to 14 ms in its first search, which the runtime interprets.
 */
export const MAX_OPERATIONS = 1_000_000
/** The number of these operations that count as one step. Most searches take far fewer operations. */
const OPERATIONS_PER_STEP = 32
/** The number of steps that the runtime takes to compile one character of a regular expression, on average. */
const STEPS_PER_CHARACTER = 2

function createMatcher(pattern: Pattern, machines: KeptMachines): Matcher {
  const operationsPerIndex = countPaths(pattern) * Math.max(1, countNodes(pattern))
  const isAtStart = isAnchored(pattern)
  const startSearch = createSearch(pattern, machines)
  let native: ((text: string) => boolean) | undefined

  // A search also begins at the end of the text.
  const isNative = (text: string): boolean => operationsPerIndex * (text.length + 1) <= MAX_OPERATIONS
  const runNative: Counted<[text: string], boolean> = (text, slice) => {
    native ??= compileNative(pattern, slice)
    slice.left -= 1 + (operationsPerIndex * (isAtStart ? 1 : text.length)) / OPERATIONS_PER_STEP
    return native(text)
  }
  const search = (text: string): TextSearch => {
    if (!isNative(text)) return startSearch(text)
    let hasPaused = false
    return {
      goOn(slice) {
        if (hasPaused || slice.left > 0) return runNative(text, slice)
        hasPaused = true
        return undefined
      },
    }
  }
  return {
    test: (text) => search(text).goOn(endless()) === true,
    begin: (text, slice) => (isNative(text) && slice.left > 0 ? runNative(text, slice) : search(text)),
    search,
  }
}

const compileNative: Counted<[pattern: Pattern], (text: string) => boolean> = (pattern, slice) => {
  if (pattern.kind === 'text') return (text) => text.includes(pattern.text)
  const source = printPattern(pattern, JAVASCRIPT)
  slice.left -= STEPS_PER_CHARACTER * source.length
  const expression = new RegExp(source, 'u')
  return (text) => expression.test(text)
}

/** Whether a pattern only matches at the start of the text, so that its search ends soon anyway. */
const isAnchored = (pattern: Pattern): boolean =>
  pattern.kind === 'start' || (pattern.kind === 'sequence' && pattern.parts[0]?.kind === 'start')

/**
 * The maximum number of UTF-16 units of a literal to search for, because the runtime may compare all of them
 * at each index.
 */
const MAX_SOUGHT = 6
/** The number of UTF-16 units that one call of the runtime's search covers. Between calls, the search can pause. */
const WINDOW = 0x4000
/** The number of UTF-16 units that count as one step. In the worst case, some runtimes take four times as long. */
const UNITS_PER_STEP = 16

/**
 * Creates a search that can pause. It first looks for a literal that every match contains, which is cheap and rejects
 * most texts. Then the machine looks for a match.
 */
function createSearch(pattern: Pattern, machines: KeptMachines): (text: string) => TextSearch {
  const machineOf = keepMachine(pattern, machines)
  const literal = isAnchored(pattern) ? '' : findLiteral(pattern).slice(0, MAX_SOUGHT)
  const isWhole = pattern.kind === 'text' && pattern.text === literal

  /** Whether the text contains the literal. */
  const sift: Counted<[search: SearchState], boolean | undefined> = (search, slice) => {
    const { text } = search
    do {
      const window = text.slice(search.at, search.at + WINDOW + literal.length - 1)
      slice.left -= 1 + window.length / UNITS_PER_STEP
      if (window.includes(literal)) return true
      search.at += WINDOW
      if (search.at >= text.length) return false
    } while (slice.left > 0)
    return undefined
  }
  return (text) => {
    const search: SearchState = { text, at: 0, set: undefined }
    let isSifting = literal !== ''
    return {
      goOn(slice) {
        if (isSifting) {
          const contains = sift(search, slice)
          if (isWhole || !contains) return contains
          isSifting = false
          search.at = 0
        }
        return machineOf().run(search, slice)
      },
    }
  }
}

/** Returns a string, the longest known one, that every match of a pattern contains. */
function findLiteral(pattern: Pattern): string {
  switch (pattern.kind) {
    case 'text':
      return pattern.text
    case 'sequence':
      return pattern.parts
        .map(findLiteral)
        .reduce((longest, one) => (one.length > longest.length ? one : longest))
    case 'repeat':
      return pattern.min > 0 ? findLiteral(pattern.part) : ''
    default:
      return ''
  }
}

/** Returns a getter of the cached machine of a pattern. It creates a machine that was evicted again. */
function keepMachine(pattern: Pattern, machines: KeptMachines): () => Machine {
  const key = {}
  return () => machines.get(key) ?? createMachine(pattern, machines, key)
}

/** The functions of a machine must not refer to its pattern, which may take more memory than the machine. */
function createMachine(pattern: Pattern, machines: KeptMachines, key: object): Machine {
  let bytes = 0
  let machine: Machine | undefined
  const keep = (more: number): void => {
    bytes += more
    if (machine) machines.set(key, machine, bytes)
  }
  machine = new Machine(pattern, keep)
  keep(0)
  return machine
}
