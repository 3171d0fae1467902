import { isObject } from '../../../json/own-properties.js'
import { toPrintable } from '../../../service/start/printable.js'
import { toJsonText } from '../../text/json-text.js'
import { WIDTH, wrap } from '../../text/layout.js'
import { toCode, toMarkdown } from '../../text/markdown.js'
import { type Paint, plain } from '../../text/paint.js'
import type { TreeLine } from '../../text/tree-line.js'
import type { ExplainedAnswer, Explanation, Suggestion } from '../explanation.js'
import { grantPointer } from '../find-rule.js'
import { describeDifferences } from './describe-differences.js'
import { describeJudgement } from './describe-judgement.js'

/** The style of a text on a terminal. */
interface TerminalStyle {
  readonly paint: Paint
  readonly width: number
}

const PLAIN: TerminalStyle = { paint: plain, width: WIDTH }

/** Prints an explanation as text, in lines of at most `width` characters, except for longer words. */
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

/** A line in which every character is visible: documents and callers are untrusted. */
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

/** The suggested grant: words, and each rule with its place. */
interface Advice {
  readonly words: readonly string[]
  readonly rules: readonly { readonly pointer: string; readonly json: readonly string[] }[]
  /** The other differences that it makes. */
  readonly changes: readonly string[]
}

function describeSuggestion({ missing, suggestion }: Explanation, width: number): readonly Advice[] {
  if (!missing) return []
  const right = `The right to ${missing.operation} ${missing.collection} is missing`
  if (!suggestion)
    return [{ words: wrap(`${right}; no grant alone lets this through.`, width), rules: [], changes: [] }]
  const { collection, subject, rules } = suggestion
  return [
    {
      words: wrap(`${right}. This would have let it through${describeAdditions(suggestion)}:`, width),
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
    ...(conditions > 0 ? [`holds in ${conditions} more ${more}`] : []),
  ]
  return added.length > 0 ? `; it ${added.join(', and ')}` : ''
}

/** JSON on one line if it fits, else with one member a line. */
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
