import { describeForced } from '../text/describe-condition.js'
import { layOutMarkdown } from '../text/layout.js'
import { toCode } from '../text/markdown.js'
import { keyOf } from './decide.js'
import { NOTHING } from './print-text.js'
import { type Cell, COLUMNS, type MatrixRow, nameRole, toRows } from './rows.js'
import type { CollectionMatrix, MatrixClaim, MatrixFields, MatrixRule, PermissionMatrix } from './types.js'

/**
 * Prints a matrix as Markdown for commits and reviews. Each rule of each kind of caller has a self-contained line, so
 * that a change appears only in the lines of the callers that it affects.
 */
export const printMarkdown = ({ collections, claims }: PermissionMatrix): string =>
  [ABOUT, ...collections.map(printCollection), ...(claims.length > 0 ? [printClaims(claims)] : [])]
    .map((lines) => lines.join('\n'))
    .join('\n\n')

const ABOUT: readonly string[] = [
  '# Permissions',
  '',
  'Generated from the configuration by `collection-service matrix --format markdown`. Do not edit: generate it again.',
  'Rules that create or update are tried in their order, and one of them runs; those that read or delete add up.',
  'Callers update and delete only documents that they may read. A role without a row has the rights of `user`.',
]

const HEAD: readonly string[] = ['caller', 'may', 'documents', 'fields', 'forced', 'afterwards', 'rule']

function printCollection(collection: CollectionMatrix): readonly string[] {
  const rows = toRows(collection, false)
  let outer: MatrixRow | undefined
  const lines = rows.flatMap((row) => {
    if (!row.isInner) outer = row
    return printRow(row, outer)
  })
  const { name, roles } = collection
  const order =
    roles.length > 1 ? ['', `Several roles: ${roles.map(nameRole).map(printLabel).join(', ')}`] : []
  return [`## ${toCode(name)}`, '', ...layOutMarkdown(HEAD, lines), ...order]
}

/** Returns the table lines of a row. An owner's row has only the differences from the row to which it belongs. */
function printRow(row: MatrixRow, outer: MatrixRow | undefined): readonly (readonly string[])[] {
  const isRegistering = row.cells.create?.operation === 'register'
  const labels = row.isInner ? [...(outer?.labels ?? []), ...(isRegistering ? [] : row.labels)] : row.labels
  const label = labels.map(printLabel).join(', ')
  return COLUMNS.flatMap((column) => {
    const cell = row.cells[column]
    const other = outer === row ? undefined : outer?.cells[column]
    const isSame =
      other?.operation === cell?.operation && keyOf(other?.rules ?? []) === keyOf(cell?.rules ?? [])
    if (!cell || (other && isSame)) return []
    return printCell(cell).map((texts) => [label, ...texts])
  })
}

/** Prints a quoted label as code, because it may contain Markdown syntax. */
const printLabel = (label: string): string => (label.startsWith('"') ? toCode(label) : label)

function printCell({ operation, rules }: Cell): readonly (readonly string[])[] {
  if (rules.length === 0) return [[operation, NOTHING, '', '', '', '']]
  const isTried = operation !== 'read' && operation !== 'delete' && rules.length > 1
  return rules.map((rule, i) => [
    isTried ? `${operation}, ${i + 1}.` : operation,
    rule.where ? toCode(rule.where.text) : operation === 'create' || operation === 'register' ? '' : 'all',
    printFields(rule.fields),
    Object.keys(rule.set).length > 0 ? toCode(describeForced(rule.set)) : '',
    printCheck(rule, operation),
    rule.pointers.map(toCode).join(', '),
  ])
}

function printFields(fields: MatrixFields | null): string {
  if (!fields) return ''
  if (fields.kind === 'all') return 'all'
  const names = fields.names.map(toCode).join(' ')
  if (fields.kind === 'except') return `all but ${names}`
  return names || 'none'
}

function printCheck({ where, check }: MatrixRule, operation: Cell['operation']): string {
  if (operation === 'read' || operation === 'delete' || (!where && !check)) return ''
  if (!check) return 'anything'
  return check.text === where?.text ? 'the same' : toCode(check.text)
}

const printClaims = (claims: readonly MatrixClaim[]): readonly string[] => [
  '## Claims',
  '',
  ...layOutMarkdown(
    ['claim', 'holds', 'of', 'where', 'by'],
    claims.map(({ name, take, from, condition: { text, pointers } }) => [
      toCode(`$user.${name}`),
      ...[take, from, text, ...pointers].map(toCode),
    ]),
  ),
]
