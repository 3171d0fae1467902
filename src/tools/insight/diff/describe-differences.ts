import { toPrintable } from '../../../core/start/printable.js'
import { toJsonText } from '../text/json-text.js'
import { layOutMarkdown, WIDTH, wrap } from '../text/layout.js'
import { toCode } from '../text/markdown.js'
import { type Paint, plain } from '../text/paint.js'
import type { Difference, PermissionDifference, StructureDifference, Witness } from './types.js'

/** The format in which differences are printed. */
export type DifferenceFormat = 'text' | 'markdown' | 'json'

/** Describes differences as text, Markdown or JSON. Only text is painted, and has lines of at most 100 columns. */
export function describeDifferences(
  differences: readonly Difference[],
  format: DifferenceFormat = 'text',
  paint: Paint = plain,
): string {
  switch (format) {
    case 'json':
      return toJsonText(differences, 2)
    case 'markdown':
      return [...layOutMarkdown(HEAD, differences.map(toRow)), '', countKinds(differences)].join('\n')
    case 'text':
      return [...differences.flatMap((one) => [...describe(one, paint), '']), countKinds(differences)].join(
        '\n',
      )
    default:
      throw new TypeError(`the format must be text, markdown or json, not ${format satisfies never}`)
  }
}

const HEAD: readonly string[] = ['difference', 'where', 'what', 'who', 'counterexample']

const COLOURS = {
  widening: 'red',
  narrowing: 'green',
  changed: 'yellow',
  undecided: 'yellow',
  schema: 'cyan',
  limits: 'cyan',
  auth: 'cyan',
} as const satisfies { readonly [kind in Difference['kind']]: string }

function describe(difference: Difference, paint: Paint): readonly string[] {
  const [first = '', ...rest] = wrapHard(toPrintable(headOf(difference)), '', WIDTH)
  const { kind } = difference
  const head = [paint(COLOURS[kind], first.slice(0, kind.length)) + first.slice(kind.length), ...rest]
  if (kind === 'undecided') return head
  const follows = difference.follows.map((text) => `follows: ${text}`)
  const parts = 'witness' in difference ? [...partsOf(difference.witness), ...follows] : follows
  return [...head, ...parts.flatMap((part) => wrapHard(toPrintable(part), '  ', WIDTH))]
}

const headOf = (difference: Difference): string =>
  [difference.kind, whereOf(difference), whatOf(difference), whoOf(difference)].filter(Boolean).join(' · ')

const whereOf = (difference: Difference): string =>
  'pointer' in difference ? difference.pointer : `${difference.collection} ${difference.operation}`

function whatOf(difference: Difference): string {
  if ('witness' in difference)
    return difference.fields.length > 0 ? difference.fields.join(' ') : WHOLE[difference.kind]
  if (difference.kind === 'undecided') return REASONS[difference.reason]
  return structureOf(difference)
}

const WHOLE = {
  widening: 'granted now, not before',
  narrowing: 'granted before, not now',
  changed: 'rejected in both, but in different ways',
} as const

const REASONS = {
  decisions: 'the comparison stopped after 200,000 decisions; there may be more differences',
  patterns: 'the patterns have more than 10,000 states; there may be more differences',
} as const

const structureOf = ({ before, after }: StructureDifference): string =>
  before === undefined
    ? `new: ${print(after)}`
    : after === undefined
      ? `removed: ${print(before)}`
      : `${print(before)} → ${print(after)}`

function whoOf(difference: Difference): string {
  if (!('witness' in difference)) return ''
  const { roles, stale } = difference
  const who = roles === null ? 'everyone' : roles.length === 0 ? 'anyone signed in' : roles.join(' + ')
  return stale ? `${who}, with a document that could not be stored before` : who
}

function partsOf(witness: Witness): readonly string[] {
  const { caller, documents, request, callerAfter, documentsAfter, requestAfter } = witness
  const later = [
    ...(requestAfter ? [describeRequest(requestAfter)] : []),
    ...(callerAfter === undefined ? [] : [describeCaller(callerAfter)]),
    ...describeDocuments(documentsAfter ?? {}),
  ]
  return [
    describeRequest(request),
    describeCaller(caller),
    ...describeDocuments(documents),
    ...later.map((part) => `after: ${part}`),
  ]
}

const describeRequest = ({ method, path, body }: Witness['request']): string =>
  `${method} ${path}${body ? ` ${print(body)}` : ''}`

const describeCaller = (caller: Witness['caller']): string =>
  `as ${caller ? print(caller) : 'an anonymous caller'}`

const describeDocuments = (documents: Witness['documents']): readonly string[] =>
  Object.entries(documents).flatMap(([name, all]) => all.map((one) => `${name} contains ${print(one)}`))

/** Prints a value as JSON with a space at each position where a line may be broken. */
function print(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(print).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing'
  const entries = Object.entries(value).map(([name, inner]) => `${print(name)}: ${print(inner)}`)
  return `{${entries.join(', ')}}`
}

/** Breaks text into lines. Words that are wider than a line are broken too. */
const wrapHard = (text: string, indent: string, width: number): readonly string[] => {
  const room = width - indent.length - 2
  const words = text.split(' ').flatMap((word) => word.match(new RegExp(`.{1,${room}}`, 'gsu')) ?? [''])
  return wrap(words.join(' '), room).map((line, i) => indent + (i === 0 ? '' : '  ') + line)
}

function toRow(difference: Difference): readonly string[] {
  const witness: readonly string[] = 'witness' in difference ? partsOf(difference.witness) : []
  const follows = 'follows' in difference ? difference.follows : []
  const cells = [difference.kind, whereOf(difference), whatOf(difference), whoOf(difference)]
  return [
    ...cells.map((cell) => toPrintable(cell).replaceAll('`', "'")),
    [...witness.map(toCode), ...follows.map(toPrintable)].join('<br>'),
  ]
}

const KINDS = ['widening', 'narrowing', 'changed', 'undecided', 'schema', 'limits', 'auth'] as const

function countKinds(differences: readonly Difference[]): string {
  const counts = KINDS.flatMap((kind) => {
    const count = differences.filter((one: PermissionDifference | Difference) => one.kind === kind).length
    return count > 0 ? [`${count} ${kind}`] : []
  })
  return counts.length > 0 ? counts.join(', ') : 'No difference.'
}
