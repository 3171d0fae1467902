import { grantPointer } from '../../../../core/config/compile-permissions.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { toPrintable } from '../../../../core/start/printable.js'
import type { Difference } from '../../diff/types.js'
import { toJsonText } from '../../text/json-text.js'
import { WIDTH, wrap } from '../../text/layout.js'
import { toCode, toMarkdown } from '../../text/markdown.js'
import { type Paint, plain } from '../../text/paint.js'
import { SIGNS } from '../../text/signs.js'
import type {
  DroppedProperty,
  ExplainedAnswer,
  Explanation,
  JudgedComparison,
  JudgedCondition,
  JudgedRule,
  Judgement,
  RuleVerdict,
  Suggestion,
} from '../explanation.js'

/** The maximum number of printed differences. The command `diff` prints all, each with a counterexample. */
const MOST = 8

/** Describes differences of permissions, one on each line. */
function describeDifferences(differences: readonly Difference[]): readonly string[] {
  const lines = differences.slice(0, MOST).map(describe)
  const more = differences.length - lines.length
  return more > 0 ? [...lines, `and ${more} more`] : lines
}

function describe(difference: Difference): string {
  if (difference.kind === 'undecided') {
    const { operation, collection } = difference
    return `undecided: ${operation} ${collection}`
  }
  if (!('witness' in difference)) return `${difference.kind}: ${difference.pointer}`
  const { kind, operation, collection, fields, roles, stale } = difference
  const who = roles === null ? 'anyone' : roles.length === 0 ? 'anyone who is signed in' : roles.join(' and ')
  const what = fields.length > 0 ? `, ${fields.join(', ')}` : ''
  return `${kind}: ${operation} ${collection}${what}, by ${who}${stale ? ' (with a document that could not be stored before)' : ''}`
}

/** The maximum length of a value that is printed completely. */
const LONGEST = 60

/** Prints a value as JSON, and truncates it if it is long. */
function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
}

/** A printed line of a tree. */
interface TreeLine {
  readonly depth: number
  /** Whether the line reports a success or a failure. Absent if it reports neither. */
  readonly isGood?: boolean
  readonly text: string
  /** The JSON pointer to the part of the configuration. */
  readonly pointer?: string | null
}

/** Describes a condition, part by part. `verb`: `is` for a stored document, `would be` for a document to store. */
function describeCondition(condition: JudgedCondition, verb: string, depth: number): readonly TreeLine[] {
  const { holds: isGood, pointer } = condition
  if (condition.kind === 'comparison')
    return [{ depth, isGood, text: describeComparison(condition, verb), pointer }]
  const text = condition.kind === 'all' ? 'all of' : 'any of'
  return [
    { depth, isGood, text },
    ...condition.parts.flatMap((part) => describeCondition(part, verb, depth + 1)),
  ]
}

function describeComparison(comparison: JudgedComparison, verb: string): string {
  const { field, operator, operand, isLacking } = comparison
  const asked =
    operator === '$exists'
      ? `${field} ${operand === true ? 'exists' : 'is missing'}`
      : `${field} ${SIGNS[operator]} ${describeValue(operand)}`
  const bound = 'bound' in comparison ? ` (${describeValue(comparison.bound)})` : ''
  const found = 'found' in comparison ? `${verb} ${describeValue(comparison.found)}` : `${verb} missing`
  return `${asked}${bound}: ${isLacking ? 'the caller has no such value' : found}`
}

/** Each verdict in words, for read rules and for write rules. */
const WORDS: { readonly [verdict in RuleVerdict]: readonly [reading: string, writing: string] } = {
  granted: ['shows it', 'runs'],
  silent: ['has no rule', 'has no rule'],
  refused: ['denies it', 'denies it'],
  outranked: ['not used', 'not used: a more specific subject decides'],
  where: ['not for this document', 'not for this document'],
  set: ['cannot set its values', 'cannot set its values'],
  faults: ['finds validation errors', 'finds validation errors'],
  check: ['does not allow such a document', 'does not allow such a document'],
  idle: ['keeps nothing of the body', 'keeps nothing of the body'],
  'granted-before': ['not needed', 'not needed: another rule ran'],
  beyond: ['not used', 'not used: 64 rules come first'],
  open: ['grants it', 'grants it'],
}

const MARKS: { readonly [verdict in RuleVerdict]?: boolean } = {
  granted: true,
  open: true,
  where: false,
  set: false,
  faults: false,
  check: false,
  refused: false,
  idle: false,
}

/** Describes a decision as the lines of a tree. */
function describeJudgement(judgement: Judgement): readonly TreeLine[] {
  const { operation, collection, place, document, isGranted, rules } = judgement
  const silent = rules.filter(({ verdict }) => verdict === 'silent').map(({ subject }) => subject)
  const where = place === '' ? '' : `, at ${place}`
  const what = document === null ? collection : `${collection}/${document}`
  return [
    {
      depth: 0,
      isGood: isGranted,
      text: `${operation} ${what}${where}: ${isGranted ? 'granted' : 'denied'}`,
    },
    ...rules
      .filter(({ verdict }) => verdict !== 'silent')
      .flatMap((rule) => describeRule(rule, operation === 'read')),
    ...(silent.length > 0
      ? [{ depth: 1, text: `${silent.join(', ')}: ${silent.length > 1 ? 'have' : 'has'} no rule` }]
      : []),
  ]
}

function describeRule(rule: JudgedRule, isReading: boolean): readonly TreeLine[] {
  const { subject, verdict, pointer, where, check, lacking, dropped, faults } = rule
  const isGood = MARKS[verdict]
  const head = `${subject}: ${WORDS[verdict][isReading ? 0 : 1]}`
  const lines: readonly TreeLine[] = [
    ...(where ? describeCondition(where, 'is', 2) : []),
    ...lacking.map((variable) => ({
      depth: 2,
      isGood: false,
      text: `set: ${variable} has no valid value`,
    })),
    ...faults.map(({ path, message }) => ({
      depth: 2,
      isGood: false,
      text: `${path || 'the body'} ${message}`,
    })),
    ...(check ? describeCondition(check, 'would be', 2) : []),
    ...dropped.map((one) => ({ depth: 2, text: describeDropped(one, isReading), pointer: one.by })),
  ]
  return [
    { depth: 1, ...(isGood === undefined ? {} : { isGood }), text: head, pointer },
    ...lines.map((line) => ({ ...line, pointer: shorten(line.pointer, pointer) })),
  ]
}

/** Makes a pointer relative to the pointer of its rule, which a line above already shows. */
function shorten(pointer: string | null | undefined, outer: string | null): string | null {
  if (!pointer || pointer === outer) return null
  return outer !== null && pointer.startsWith(`${outer}/`) ? pointer.slice(outer.length + 1) : pointer
}

function describeDropped({ name, why }: DroppedProperty, isReading: boolean): string {
  switch (why) {
    case 'pick':
      return `${isReading ? 'hides' : 'drops'} ${name}, which it does not pick`
    case 'omit':
      return `${isReading ? 'hides' : 'drops'} ${name}, which it omits`
    case 'set':
      return `sets its own ${name}`
    case 'role':
      return `drops ${name}: a role is accepted only if "pick" names its field`
    case 'service':
      return `drops ${name}, which the service writes itself`
    default:
      return why satisfies never
  }
}

/** The style of text on a terminal. */
interface TerminalStyle {
  readonly paint: Paint
  readonly width: number
}

const PLAIN: TerminalStyle = { paint: plain, width: WIDTH }

/** Prints an explanation as text. A line has at most `width` characters, unless a single word is longer. */
export function printExplanation(explanation: Explanation, look: Partial<TerminalStyle> = {}): string {
  const { paint, width } = { ...PLAIN, ...look }
  const blocks = [
    [
      paint('bold', wrap(toPrintable(describeRequest(explanation)), width - 2).join('\n  ')),
      describeAnswer(explanation.answer, width),
    ],
    ...explanation.judgements.map((judgement) =>
      describeJudgement(judgement).flatMap((line) => printLine(toVisible(line), { paint, width })),
    ),
    ...(explanation.isCut ? [['…']] : []),
    ...describeSuggestion(explanation, width).map((one) => printSuggestion(one, { paint, width })),
  ]
  return blocks.map((lines) => lines.join('\n')).join('\n\n')
}

const printSuggestion = (
  { words, rules, changes }: ReturnType<typeof describeSuggestion>[number],
  { paint, width }: TerminalStyle,
): readonly string[] => [
  ...words,
  ...rules.flatMap(({ pointer, json }) => [
    `  ${paint('dim', toPrintable(pointer))}`,
    ...json.map((line) => `    ${line}`),
  ]),
  ...changes.flatMap((line) => wrap(toPrintable(`- ${line}`), width - 2).map((one) => `  ${one}`)),
]

/** Prints an explanation as Markdown. */
export function printExplanationMarkdown(explanation: Explanation): string {
  const blocks = [
    [`### ${toCode(describeRequest(explanation))}`],
    [describeAnswer(explanation.answer, Infinity)],
    explanation.judgements.flatMap((judgement) => describeJudgement(judgement).map(toItem)),
    ...(explanation.isCut ? [['…']] : []),
    ...describeSuggestion(explanation, WIDTH).map(({ words, rules, changes }) => [
      ...words,
      ...rules.flatMap(({ pointer, json }) => ['', toCode(pointer), '', '```json', ...json, '```']),
      ...(changes.length > 0 ? ['', ...changes.map((line) => `- ${toMarkdown(line)}`)] : []),
    ]),
  ]
  return blocks.map((lines) => lines.join('\n')).join('\n\n')
}

function describeRequest({ request, subjects }: Explanation): string {
  const { method, path, caller } = request
  return `${method} ${path} as ${caller === null ? 'anonymous' : `${caller.id} (${subjects.join(', ')})`}`
}

function describeAnswer({ status, code, detail, ignored }: ExplainedAnswer, width: number): string {
  const what = code === null ? '' : ` ${code}`
  const said = detail === null ? '' : `: ${detail}`
  const dropped = ignored.length > 0 ? `, ignored: ${ignored.join(', ')}` : ''
  return wrap(toPrintable(`${status}${what}${said}${dropped}`), width - 2).join('\n  ')
}

/** Makes every character of a line visible, because documents and callers are untrusted. */
const toVisible = ({ text, pointer, ...line }: TreeLine): TreeLine => ({
  ...line,
  text: toPrintable(text),
  pointer: pointer ? toPrintable(pointer) : null,
})

const markOf = ({ isGood }: TreeLine): string => (isGood === undefined ? '·' : isGood ? '✓' : '✗')

function printLine(line: TreeLine, { paint, width }: TerminalStyle): readonly string[] {
  const { depth, isGood, text, pointer } = line
  const margin = ' '.repeat(depth * 2)
  const [first = '', ...others] = wrap(text, width - depth * 2 - 2)
  const mark = isGood === undefined ? '·' : paint(isGood ? 'green' : 'red', markOf(line))
  const written = `${margin}${mark} ${depth === 0 ? paint('bold', first) : first}`
  const rest = others.map((one) => `${margin}  ${one}`)
  if (!pointer) return [written, ...rest]
  const isRoomy = others.length === 0 && margin.length + 2 + first.length + 2 + pointer.length <= width
  if (isRoomy) return [`${written}  ${paint('dim', pointer)}`]
  return [written, ...rest, `${margin}  ${paint('dim', pointer)}`]
}

const toItem = (line: TreeLine): string =>
  `${'  '.repeat(line.depth)}- ${markOf(line)} ${toMarkdown(line.text)}${line.pointer ? ` ${toCode(line.pointer)}` : ''}`

/** A suggested grant: an explanation in words, and each new rule with its pointer. */
interface Advice {
  readonly words: readonly string[]
  readonly rules: readonly { readonly pointer: string; readonly json: readonly string[] }[]
  /** The differences that the grant causes. */
  readonly changes: readonly string[]
}

function describeSuggestion({ missing, suggestion }: Explanation, width: number): readonly Advice[] {
  if (!missing) return []
  const right = `The right to ${missing.operation} ${missing.collection} is missing`
  if (!suggestion)
    return [
      {
        words: wrap(`${right}. No single grant would let the request succeed.`, width),
        rules: [],
        changes: [],
      },
    ]
  const { collection, subject, rules } = suggestion
  return [
    {
      words: wrap(
        `${right}. This grant would have let the request succeed${describeAdditions(suggestion)}:`,
        width,
      ),
      rules: Object.entries(rules).map(([operation, rule]) => ({
        pointer: `${grantPointer(collection, subject)}/${operation}`,
        json: printJson(rule, width - 4),
      })),
      changes: describeDifferences(suggestion.diff),
    },
  ]
}

function describeAdditions({ names, conditions }: Suggestion): string {
  const more = conditions > 1 ? 'cases' : 'case'
  const added = [
    ...(names.length > 0 ? [`also accepts ${names.join(', ')}`] : []),
    ...(conditions > 0 ? [`applies in ${conditions} more ${more}`] : []),
  ]
  return added.length > 0 ? `; it ${added.join(', and ')}` : ''
}

/** Prints JSON on one line if it fits; otherwise with each member on a line. */
function printJson(value: unknown, width: number): readonly string[] {
  const short = printShort(value)
  if (short.length <= width || typeof value !== 'object' || value === null) return [short]
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = Object.entries(value).map(([name, one]) => {
    const [first = '', ...rest] = printJson(one, width - 2 - (Array.isArray(value) ? 0 : name.length + 4))
    return [Array.isArray(value) ? first : `${toJsonText(name)}: ${first}`, ...rest]
  })
  const lines = members.flatMap((member, i) => {
    const comma = i < members.length - 1 ? ',' : ''
    return member.map((line, j) => `  ${line}${j === member.length - 1 ? comma : ''}`)
  })
  return [open ?? '', ...lines, close ?? '']
}

function printShort(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printShort).join(', ')}]`
  if (!isObject(value)) return toJsonText(value)
  const members = Object.entries(value).map(([name, one]) => `${toJsonText(name)}: ${printShort(one)}`)
  return members.length > 0 ? `{ ${members.join(', ')} }` : '{}'
}
