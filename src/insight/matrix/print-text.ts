import { toPrintable } from '../../service/start/printable.js'
import { WIDTH } from '../text/layout.js'
import { type Paint, plain } from '../text/paint.js'
import { isShown } from './decide.js'
import { breakText, type GridRow, layOutGrid, NOTHING } from './grid.js'
import { layOutNotes } from './legend.js'
import { abbreviate, createLetters, type Letters } from './letters.js'
import { COLUMNS, type MatrixRow, nameRole, toRows } from './rows.js'
import type { CollectionMatrix, MatrixClaim, PermissionMatrix } from './types.js'

/** How a matrix is printed on a terminal. */
export interface TextOptions {
  /** Default: no colours. */
  readonly paint?: Paint
  /** The widest line, in characters. Default 100. */
  readonly width?: number
  /** Whether a second table names the rules, and signs are explained. Default: false. */
  readonly isFull?: boolean
}

type TextLayout = Required<TextOptions>

/** A matrix as text: for each collection a table and the meaning of its letters, then the claims. */
export function printText({ collections, claims }: PermissionMatrix, options: TextOptions = {}): string {
  const place = { paint: plain, width: WIDTH, isFull: false, ...options }
  const tables = collections.map((collection) => printCollection(collection, place))
  return [
    ...tables,
    ...(claims.length > 0 ? [printClaims(claims, place)] : []),
    ...(place.isFull ? [printKey(place)] : []),
  ]
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

function printCollection(collection: CollectionMatrix, place: TextLayout): readonly string[] {
  const { paint, width, isFull } = place
  const rows = toRows(collection, true)
  const letters = createLetters(namesIn(rows))
  const texts = rows.map((row) => abbreviateRow(row, letters))
  const notes = letters.notes().map(({ letter, ...note }) => ({ name: letter, ...note }))
  return [
    ...layOutGrid(toGrid(collection.name, rows, referBack(rows, texts)), width, paint),
    ...remarksOn(collection, rows).flatMap((remark) => breakText(remark, width)),
    ...layOutNotes(notes, width, paint),
    ...(isFull ? printRules(collection, rows, place) : []),
  ]
}

/** The names in the cells. */
const namesIn = (rows: readonly MatrixRow[]): ReadonlySet<string> =>
  new Set(rows.flatMap(rulesIn).flatMap(({ fields }) => (fields && 'names' in fields ? fields.names : [])))

const rulesIn = ({ cells }: MatrixRow) => COLUMNS.flatMap((column) => cells[column]?.rules ?? [])

const abbreviateRow = ({ cells }: MatrixRow, letters: Letters): readonly string[] =>
  COLUMNS.map((column) => {
    const cell = cells[column]
    if (!cell) return ''
    return cell.rules.length > 0 ? abbreviate(cell.rules, cell.operation, letters) : NOTHING
  })

/** A text of several words that a row above already has is replaced by the name of that row. */
const referBack = (
  rows: readonly MatrixRow[],
  texts: readonly (readonly string[])[],
): readonly (readonly string[])[] =>
  texts.map((cells, i) =>
    cells.map((text, column) => {
      if (rows[i]?.isInner || !text.includes(' ')) return text
      const first = findRow(rows, texts, column, text)
      return first < i ? `as ${rows[first]?.labels[0]}` : text
    }),
  )

/** The first row with a text in a column. */
const findRow = (
  rows: readonly MatrixRow[],
  texts: readonly (readonly string[])[],
  column: number,
  text: string,
): number => texts.findIndex((cells, i) => !rows[i]?.isInner && cells[column] === text)

function toGrid(
  name: string,
  rows: readonly MatrixRow[],
  texts: readonly (readonly string[])[],
): readonly GridRow[] {
  const lines = rows.map(({ labels, isInner }, i) => ({
    cells: [isInner ? `  ${labels.join(', ')}` : labels.join(', '), ...(texts[i] ?? [])],
  }))
  return [{ isHead: true, cells: [name, ...COLUMNS] }, ...lines]
}

/** Remarks that the table itself does not show. */
function remarksOn({ roles }: CollectionMatrix, rows: readonly MatrixRow[]): readonly string[] {
  const isAllShown = rows.every(({ cells: { read, update, delete: removal } }) =>
    [update, removal].every((cell) => isShown(cell?.rules ?? [], read?.rules ?? [])),
  )
  return [
    ...(roles.length > 1 ? [`several roles: ${roles.map(nameRole).join(', ')}`] : []),
    ...(isAllShown ? [] : ['update and delete: only documents that may be read']),
  ]
}

/** The rules of the cells, as places in the permissions of the collection. */
function printRules(
  { name }: CollectionMatrix,
  rows: readonly MatrixRow[],
  { paint, width }: TextLayout,
): readonly string[] {
  const [base] = rows.flatMap(rulesIn).flatMap(({ pointers }) => pointers)
  const at = base?.split('/').slice(0, 4).join('/')
  const texts = rows.map(({ cells }) =>
    COLUMNS.map((column) => {
      const cell = cells[column]
      if (!cell) return ''
      return toPrintable(pointersOf(cell, at).join(' ')) || NOTHING
    }),
  )
  return at === undefined
    ? []
    : ['', ...breakText(`rules in ${at}/…`, width), ...layOutGrid(toGrid(name, rows, texts), width, paint)]
}

/** The pointers to the rules of a cell, from a place on. */
const pointersOf = (
  { rules }: { readonly rules: readonly { readonly pointers: readonly string[] }[] },
  at = '',
): readonly string[] => rules.flatMap(({ pointers }) => pointers.map((one) => one.slice(at.length + 1)))

const printClaims = (claims: readonly MatrixClaim[], { paint, width }: TextLayout): readonly string[] => [
  paint('bold', 'claims'),
  ...layOutNotes(
    claims.map(({ name, from, take, condition: { text, pointers } }) => ({
      name: `$user.${name}`,
      text: `${take} of ${from} where ${text}`,
      pointers,
    })),
    width,
    paint,
  ),
]

/** The meaning of the signs of a table. */
const SIGNS: readonly (readonly [sign: string, meaning: string])[] = [
  ['–', 'nothing'],
  ['all', 'every document, every field'],
  ['title tags', 'these fields alone'],
  ['-views', 'all fields but these'],
  ['a', 'documents that meet a condition, shown below; a, -views: these fields of them'],
  ['set b', 'values that replace those of the body'],
  ['then c', 'the condition after the write; without it that of before holds again, with "any" none'],
  ['x|y', 'rules tried in this order; first those that drop nothing of the body'],
  ['x + y', 'rules that add up'],
  ['as user', 'the same as in that row above'],
  ['user', 'signed-in callers; roles without a row have the same rights'],
  ['own', 'for documents that they created'],
  ['several roles', 'for a caller with several roles, these decide about writing, in this order'],
]

const printKey = ({ paint, width }: TextLayout): readonly string[] => [
  paint('bold', 'signs'),
  ...layOutNotes(
    SIGNS.map(([name, text]) => ({ name, text, pointers: [] })),
    width,
    paint,
  ),
]
