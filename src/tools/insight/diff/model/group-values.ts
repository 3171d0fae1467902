import type { Field } from '../../../../core/fields/field-type.js'
import type { ComparableType, Filter, Scalar } from '../../../../core/filter/filter.js'
import {
  type Automaton,
  compileAutomaton,
  findPositions,
} from '../../../../core/filter/pattern/machine/automaton.js'
import { divide } from '../../../../core/filter/pattern/machine/character-classes.js'
import { parsePattern } from '../../../../core/filter/pattern/parse-pattern.js'
import { LAST, type Range, WORD_RANGES } from '../../../../core/filter/pattern/syntax/code-points.js'
import type { Pattern } from '../../../../core/filter/pattern/syntax/pattern.js'
import { compareText } from '../../../../core/json/compare-text.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { OWNER, type Rule } from '../../../../core/permissions/grants.js'
import { isVariable } from '../../../../core/query/variable.js'
import type { Where } from '../../../../core/query/where.js'
import { leavesOf, pathsOf } from './conditions.js'
import { CALLER_ID, sourceOfVariable, storedKey, TIME } from './sources.js'

/** Values that rules compare with each other, directly or indirectly: fields, values of the caller, the time. */
interface ComparedGroup {
  /** The keys of the members: `stored.<path>` for a field, `caller.<path>` for a value of the caller, and the time. */
  readonly keys: Set<string>
  readonly named: Set<Scalar>
  readonly patterns: Map<string, Pattern>
}

/** The groups of compared values. */
interface Comparisons {
  /** Returns the group of a key. */
  groupOf(key: string): ComparedGroup
  /** All keys of caller values, in the order in which the rules name them. */
  readonly callerKeys: ReadonlySet<string>
}

const isSingle = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** Returns the key of a field in its group. It stands for the field of the stored document and of the body. */
export const fieldKey = (path: string): string => storedKey(path)

/** Groups the values that rules compare, and collects the literal values and the patterns in rules and fields. */
export function findComparisons(rules: readonly Rule[], fields: readonly Field[]): Comparisons {
  const groups = new Map<string, ComparedGroup>()
  const callerKeys = new Set<string>()
  const groupOf = (key: string): ComparedGroup => {
    const known = groups.get(key)
    if (known) return known
    const group = { keys: new Set([key]), named: new Set<Scalar>(), patterns: new Map<string, Pattern>() }
    groups.set(key, group)
    if (key !== TIME && key.startsWith('caller.')) callerKeys.add(key)
    return group
  }
  const join = (a: string, b: string): void => {
    const [one, other] = [groupOf(a), groupOf(b)]
    if (one === other) return
    for (const key of other.keys) {
      one.keys.add(key)
      groups.set(key, one)
    }
    for (const value of other.named) one.named.add(value)
    for (const [name, pattern] of other.patterns) one.patterns.set(name, pattern)
  }
  const name = (key: string, value: unknown): void => {
    for (const one of [value].flat()) if (isSingle(one)) groupOf(key).named.add(one)
  }
  const addWritten = (key: string, value: unknown): void => {
    if (isVariable(value)) {
      const source = sourceOfVariable(value)
      if (source.kind === 'variable') join(key, source.key)
    } else if (Array.isArray(value)) for (const one of value) addWritten(key, one)
    else if (isObject(value))
      for (const [inner, one] of Object.entries(value)) addWritten(`${key}.${inner}`, one)
    else name(key, value)
  }
  const addFilter = (filter: Filter): void => {
    for (const leaf of leavesOf(filter)) {
      const key = fieldKey(leaf.field.path)
      if (leaf.kind === 'match') groupOf(key).patterns.set(JSON.stringify(leaf.pattern), leaf.pattern)
      else if (leaf.kind !== 'present') name(key, leaf.value)
    }
  }
  const addWhere = (where: Where): void => {
    if (where.kind === 'fixed') addFilter(where.filter)
    else if (where.parts.kind !== 'condition') where.parts.wheres.forEach(addWhere)
    else if (where.parts.field.ref) addWritten(fieldKey(where.parts.field.ref.path), where.parts.operand)
  }
  for (const rule of rules) {
    if (rule.subject === OWNER) join(fieldKey('createdBy'), CALLER_ID)
    addWhere(rule.where)
    addWhere(rule.check)
    // A write sets these fields of the checked document to the caller's id or to the time.
    for (const path of pathsOf(rule.check)) {
      if (path === 'createdBy') join(fieldKey(path), CALLER_ID)
      else if (path === 'createdAt' || path === 'updatedAt') join(fieldKey(path), TIME)
    }
    for (const [field, value] of rule.set) addWritten(fieldKey(field), value)
  }
  for (const field of fields) {
    addAttributes(field, name, addWritten)
    const { definition, fieldType } = field.items ?? field
    const written = fieldType.patternOf?.(definition)
    const pattern = written === undefined ? undefined : parsePattern(written, { ignoreCase: false })
    if (pattern) groupOf(fieldKey(field.path)).patterns.set(JSON.stringify(pattern), pattern)
  }
  return { groupOf, callerKeys }
}

/** Adds the values that a field definition names: limits, choices and default. */
function addAttributes(
  { path, definition, items }: Field,
  name: (key: string, value: unknown) => void,
  addWritten: (key: string, value: unknown) => void,
): void {
  const own = new Map<string, unknown>(Object.entries(definition))
  for (const attribute of ['enum', 'minimum', 'maximum']) name(fieldKey(path), own.get(attribute))
  if (own.has('default')) addWritten(fieldKey(path), own.get('default'))
  const { enum: choice } = (items?.definition ?? {}) as { readonly enum?: unknown }
  name(fieldKey(path), choice)
}

/** Some strings of each kind that patterns and comparisons of order distinguish. */
interface FoundTexts {
  readonly texts: readonly string[]
  /** False if there may be more kinds, because the product of the automata has too many states. */
  readonly isWhole: boolean
}

/** The maximum number of states of patterns (CONTRACT.md §8, "Diff"). */
const MAX_STATES = 10_000

/**
 * The state of a pattern at a position in a string: its set of automaton states, or its result if the rest of the
 * string cannot change the result.
 */
type Reached = Int32Array | boolean

interface Node {
  readonly text: string
  readonly reached: readonly Reached[]
}

/**
 * Finds the `count` shortest strings for each combination of pattern results and of position among the sorted `texts`.
 * Searches the product of the automata breadth first.
 */
function findTexts(patterns: readonly Pattern[], texts: readonly string[], count: number): FoundTexts {
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

/** Returns the result of each pattern for a string that ends here. */
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

/**
 * Returns one character, readable if possible, of each class that the patterns and the order of `texts` distinguish.
 */
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

/** Whether a code point can be stored: it is neither NUL nor a surrogate. */
const isStorablePoint = (point: number): boolean =>
  point > 0 && point <= LAST && (point < 0xd800 || point > 0xdfff)

/** Facts about the values of one type in a group. */
interface ComparedValues {
  readonly type: ComparableType
  /** The values that conditions name. */
  readonly named: readonly Scalar[]
  /** The maximum number of values that may have to differ from each other. */
  readonly count: number
}

/**
 * Returns the values that conditions can distinguish: the named values, and up to `count` values in each gap before,
 * between and after them.
 */
function findCandidates({ type, named, count }: ComparedValues): readonly Scalar[] {
  switch (type) {
    case 'boolean':
      return [true, false]
    case 'string':
      return between(textsOf(named), compareText, (low, high) => textsBetween(low, high, count))
    case 'timestamp': {
      const times = textsOf(named).filter((text) => Number.isFinite(Date.parse(text)))
      return between(times, compareText, (low, high) => timesBetween(low, high, count))
    }
    case 'integer':
      return between(numbersOf(named), byNumber, (low, high) => wholesBetween(low, high, count))
    case 'number':
      return between(numbersOf(named), byNumber, (low, high) => numbersBetween(low, high, count))
    default:
      return type satisfies never
  }
}

const byNumber = (a: number, b: number): number => a - b

const textsOf = (values: readonly Scalar[]): readonly string[] =>
  values.filter((value) => typeof value === 'string')
const numbersOf = (values: readonly Scalar[]): readonly number[] =>
  values.filter((value) => typeof value === 'number')

/** Returns the named values, followed by values from the gaps before, between and after them. */
function between<T extends Scalar>(
  named: readonly T[],
  compare: (a: T, b: T) => number,
  find: (low: T | undefined, high: T | undefined) => readonly T[],
): readonly T[] {
  const sorted = [...new Set(named)].sort(compare)
  const ends: readonly (T | undefined)[] = [undefined, ...sorted]
  const gaps = ends.flatMap((low, i) => find(low, sorted[i]))
  return [...sorted, ...gaps.filter((value) => !sorted.includes(value))]
}

const LETTERS: readonly string[] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'A', 'B', '0', '1', ' ', '~']

/** Returns strings between `low` and `high`. The smallest one after `low` is `low` with U+0001 appended. */
function textsBetween(low: string | undefined, high: string | undefined, count: number): readonly string[] {
  const bottom = low ?? ''
  const found = new Set<string>()
  const add = (text: string): void => {
    const isAbove = low === undefined || compareText(text, low) > 0
    if (found.size < count && isAbove && (high === undefined || compareText(text, high) < 0)) found.add(text)
  }
  for (const letter of LETTERS) {
    if (found.size === count) break
    add(letter)
    add(bottom + letter)
  }
  for (let i = 0; i < count; i++) add(bottom + '\u0001'.repeat(i + (low === undefined ? 0 : 1)))
  return [...found]
}

const FIRST_TIME = Date.parse('0001-01-01T00:00:00.000Z')
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z')
const SOME_TIME = Date.parse('2026-01-01T00:00:00.000Z')
const DAY = 86_400_000

function timesBetween(low: string | undefined, high: string | undefined, count: number): readonly string[] {
  const from = low === undefined ? FIRST_TIME - 1 : Date.parse(low)
  const to = high === undefined ? LAST_TIME + 1 : Date.parse(high)
  const start = low !== undefined ? from : high !== undefined ? to : SOME_TIME
  const days = Array.from({ length: count }, (_, i) => start + (low === undefined ? -1 : 1) * (i + 1) * DAY)
  const close = Array.from({ length: count }, (_, i) => from + i + 1)
  return [...new Set([...days, ...close])]
    .filter((time) => time > from && time < to)
    .slice(0, count)
    .map((time) => new Date(time).toISOString())
}

function wholesBetween(low: number | undefined, high: number | undefined, count: number): readonly number[] {
  const from = low === undefined ? undefined : Math.floor(low) + 1
  const to = high === undefined ? undefined : Math.ceil(high) - 1
  const found: number[] = []
  for (let i = 0; found.length < count; i++) {
    const value = from !== undefined ? from + i : to !== undefined ? to - i : i
    const isInside = (to === undefined || value <= to) && (from === undefined || value >= from)
    if (!isInside || !Number.isSafeInteger(value)) break
    found.push(value)
  }
  return found
}

function numbersBetween(low: number | undefined, high: number | undefined, count: number): readonly number[] {
  if (low === undefined || high === undefined) return wholesBetween(low, high, count)
  const found: number[] = []
  let bottom = low
  while (found.length < count) {
    const middle = bottom + (high - bottom) / 2
    if (!(middle > bottom && middle < high)) break
    found.push(middle)
    bottom = middle
  }
  return found
}

/** The values that the rules distinguish. */
export interface CandidateValues {
  /** Returns the values of a type that the rules distinguish in the group of a key. */
  ofType(key: string, type: ComparableType): readonly Scalar[]
  /** Returns the types of the fields in the group of a key. */
  typesOf(key: string): readonly ComparableType[]
  isWhole(): boolean
}

/** The maximum number of values of one group that may have to differ from each other. */
const MAX_COUNT = 6

/** Finds the values of each group when they are first requested, and caches them. */
export function createCandidates(
  comparisons: Comparisons,
  fields: ReadonlyMap<string, Field>,
): CandidateValues {
  const known = new Map<unknown, Map<ComparableType, readonly Scalar[]>>()
  let isWhole = true
  return {
    ofType(key, type) {
      const group = comparisons.groupOf(key)
      const kept = known.get(group) ?? new Map<ComparableType, readonly Scalar[]>()
      known.set(group, kept)
      const found = kept.get(type)
      if (found) return found
      const keys = [...group.keys]
      const members = keys.map((one) => fields.get(one.replace(/^stored\./, '')))
      const count = Math.min(
        MAX_COUNT,
        members.reduce((sum, field) => sum + (field?.items ? 3 : 2), 0),
      )
      const samples = members.flatMap((field) => (field && type === 'string' ? sampleText(field) : []))
      const named = [...group.named, ...samples, ...varied([...group.named, ...samples], members)]
      const values = [...findCandidates({ type, named, count })]
      if (type === 'string' && group.patterns.size > 0) {
        const ordered = named.filter((value) => typeof value === 'string')
        const texts = findTexts([...group.patterns.values()], ordered, count)
        isWhole &&= texts.isWhole
        values.push(...texts.texts.filter((text) => !values.includes(text)))
      }
      kept.set(type, values)
      return values
    },
    typesOf: (key) => {
      const members = [...comparisons.groupOf(key).keys].map((one) =>
        fields.get(one.replace(/^stored\./, '')),
      )
      const types = members.flatMap((field): ComparableType[] => {
        const { fieldType } = field?.items ?? field ?? {}
        return fieldType?.isScalar ? [fieldType.valueType] : []
      })
      return [...new Set(types)]
    },
    isWhole: () => isWhole,
  }
}

/**
 * Returns the strings to which fields normalise named values, and strings that they normalise to named values: in
 * capitals, and with a space in front.
 */
function varied(named: readonly Scalar[], fields: readonly (Field | undefined)[]): readonly string[] {
  const texts = named.filter((value) => typeof value === 'string')
  return fields.flatMap((field) => {
    const element = field?.items ?? field
    if (element?.definition.type !== 'string') return []
    const { lowercase, trim } = element.definition
    return [
      ...(lowercase || trim ? texts.map((one) => String(element.normalise(one))) : []),
      ...(lowercase ? texts.map((one) => one.toUpperCase()) : []),
      ...(trim ? texts.map((one) => ` ${one}`) : []),
    ]
  })
}

/** Returns examples of strings that a field accepts, if its format or length allows few others. */
function sampleText(field: Field): readonly string[] {
  const { definition } = field.items ?? field
  if (definition.type === 'reference' || IDS.includes(field.path)) return [SOME_ID, OTHER_ID, LAST_ID]
  if (definition.type !== 'string') return []
  const { format, minLength = 0 } = definition
  if (format !== undefined) return FORMATS[format]
  return minLength > 1 ? ['a', 'b', 'c'].map((letter) => letter.repeat(minLength)) : []
}

/** System fields that contain an `_id`. */
const IDS: readonly string[] = ['_id', 'createdBy']

const SOME_ID = '01990000-0000-7000-8000-000000000001'
const OTHER_ID = '01990000-0000-7000-8000-000000000002'
/** Greater than most ids with which rules compare. */
const LAST_ID = 'ffffffff-ffff-7fff-bfff-ffffffffffff'

const FORMATS = {
  email: ['ann@example.com', 'bob@example.com', 'eve@example.com'],
  uri: ['https://a.example', 'https://b.example', 'https://c.example'],
  uuid: [SOME_ID, OTHER_ID, '01990000-0000-7000-8000-000000000003'],
  date: ['2026-01-01', '2026-01-02', '2026-01-03'],
  time: ['10:00:00Z', '11:00:00Z', '12:00:00Z'],
  ipv4: ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
  ipv6: ['2001:db8::1', '2001:db8::2', '2001:db8::3'],
  hostname: ['a.example', 'b.example', 'c.example'],
} as const
