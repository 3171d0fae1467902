import { toPrintable } from '../../../core/start/printable.js'
import { describeForced } from '../text/describe-condition.js'
import { narrow, WIDTH } from '../text/layout.js'
import { type Paint, plain } from '../text/paint.js'
import { isShown } from './decide.js'
import { COLUMNS, type MatrixRow, nameRole, toRows } from './rows.js'
import type { CollectionMatrix, MatrixClaim, MatrixOperation, MatrixRule, PermissionMatrix } from './types.js'

interface GridRow {
  readonly cells: readonly string[]
  readonly isHead?: boolean
}

/** The gap after a column. */
const GRID_GAP = 2

/** The usual width of a column, including the gap. A column keeps it even if the gap is only one space. */
const USUAL = 22

/** The minimum width of a column. Narrower columns cannot be read. */
const GRID_NARROW = 10

/**
 * Lays out rows in columns. If they are wider than `width`, the widest columns are narrowed and their cells are
 * wrapped. No line ends in a space.
 */
function layOutGrid(rows: readonly GridRow[], width: number, paint: Paint): readonly string[] {
  const widths = narrow(naturalWidths(rows), width, GRID_NARROW)
  return rows.flatMap(({ cells, isHead }) => {
    const broken = cells.map((cell, column) => breakText(cell, roomIn(widths, column)))
    const height = Math.max(1, ...broken.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) =>
      layOutLine(
        broken.map((lines) => lines[line] ?? ''),
        widths,
        (text) => (isHead ? paint('bold', text) : text === NOTHING ? paint('dim', text) : text),
      ),
    )
  })
}

/** Joins the cells of a line. The last non-empty cell needs no padding. */
function layOutLine(
  texts: readonly string[],
  widths: readonly number[],
  paint: (text: string) => string,
): string {
  const last = texts.findLastIndex((text) => text !== '')
  let line = ''
  for (const [column, text] of texts.slice(0, last + 1).entries()) {
    line += paint(text)
    if (column < last) line += ' '.repeat((widths[column] ?? 0) - text.length)
  }
  return line
}

/** The text of a cell without rights. */
export const NOTHING = '–'

/** Returns the number of characters that fit into a column. The last column needs no gap. */
const roomIn = (widths: readonly number[], column: number): number =>
  (widths[column] ?? 0) - (column === widths.length - 1 ? 0 : 1)

function naturalWidths(rows: readonly GridRow[]): readonly number[] {
  const columns = Math.max(0, ...rows.map(({ cells }) => cells.length))
  return Array.from({ length: columns }, (_, column) => {
    const longest = Math.max(0, ...rows.map(({ cells }) => cells[column]?.length ?? 0))
    if (column === columns - 1) return longest
    return longest + 1 === USUAL ? USUAL : longest + GRID_GAP
  })
}

/** Breaks text into lines after spaces and bars. A piece that is too long is broken after a slash, or anywhere. */
function breakText(text: string, room: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  const pieces = text.split(/(?<=[ |])/).flatMap((piece) => shorten(piece, room))
  for (const piece of pieces) {
    if (line !== '' && (line + piece).trimEnd().length > room) {
      lines.push(line.trimEnd())
      line = ''
    }
    line += piece
  }
  return [...lines, line.trimEnd()]
}

/** Divides a word that is too long for a line. */
function shorten(piece: string, room: number): readonly string[] {
  if (piece.trimEnd().length <= room) return [piece]
  return piece
    .split(/(?<=\/)/)
    .flatMap((part) => part.match(new RegExp(`.{1,${Math.max(1, room)}}`, 'gu')) ?? [])
}

/** A text with its pointers, and the letter that replaces the text in cells. */
interface LetterNote {
  readonly letter: string
  readonly text: string
  readonly pointers: readonly string[]
}

/** Assigns a letter to each text. Equal texts have the same letter. */
interface Letters {
  /** Returns the letter of a text, and adds pointers to it. */
  of(text: string, pointers: readonly string[]): string
  /** Returns the texts that have a letter, in the order of their first use. */
  readonly notes: () => readonly LetterNote[]
}

/** Creates the letters of a table. `taken` contains words with another meaning, such as field names. */
function createLetters(taken: ReadonlySet<string>): Letters {
  const notes = new Map<string, { readonly letter: string; readonly pointers: Set<string> }>()
  let count = 0
  const next = (): string => {
    const letter = toLetters(count++)
    return taken.has(letter) || WORDS.has(letter) ? next() : letter
  }
  return {
    of(text, pointers) {
      const note = notes.get(text) ?? { letter: next(), pointers: new Set() }
      notes.set(text, note)
      for (const pointer of pointers) note.pointers.add(pointer)
      return note.letter
    },
    notes: () =>
      [...notes].map(([text, { letter, pointers }]) => ({ letter, text, pointers: [...pointers] })),
  }
}

/** Returns `a` to `z`, then `aa`, `ab` and so on. */
function toLetters(number: number): string {
  const last = String.fromCharCode(97 + (number % 26))
  return number < 26 ? last : toLetters(Math.floor(number / 26) - 1) + last
}

/** The words in cells that are neither names nor letters. */
const WORDS: ReadonlySet<string> = new Set(['all', 'any', 'as', 'no', 'fields', 'set', 'then'])

/** Describes the rules of a cell in a few words. Letters replace conditions and forced values. */
const abbreviate = (rules: readonly MatrixRule[], operation: MatrixOperation, letters: Letters): string =>
  rules
    .map((rule) => abbreviateRule(rule, operation, letters))
    .join(operation === 'read' || operation === 'delete' ? ' + ' : '|')

function abbreviateRule(rule: MatrixRule, operation: MatrixOperation, letters: Letters): string {
  const { pointers, where, fields, set, check } = rule
  const documents = where && letters.of(where.text, where.pointers)
  const names = abbreviateFields(fields, operation)
  const parts = [documents === null ? names : names === 'all' ? documents : `${documents}, ${names}`]
  if (Object.keys(set).length > 0) {
    const places = pointers.map((pointer) => `${pointer}/set`)
    parts.push(`set ${letters.of(describeForced(set), places)}`)
  }
  // After an update, `where` must still be true, unless the rule has a `check` of its own.
  const isPlain = operation === 'read' || operation === 'delete' || check?.text === where?.text
  if (!isPlain) parts.push(`then ${check ? letters.of(check.text, check.pointers) : 'any'}`)
  return parts.join('; ')
}

function abbreviateFields(fields: MatrixRule['fields'], operation: MatrixOperation): string {
  if (!fields || fields.kind === 'all') return 'all'
  const names = fields.names.map((name) => (WORDS.has(name) ? JSON.stringify(name) : name))
  if (fields.kind === 'except') return names.map((name) => `-${name}`).join(' ')
  return names.join(' ') || (operation === 'read' ? '_id' : 'no fields')
}

/** The meaning of a letter or a name, and its pointers. */
interface LegendEntry {
  readonly name: string
  readonly text: string
  readonly pointers: readonly string[]
}

/** The gap before the pointers. */
const GAP = 3

/** The minimum width of the text column. Narrower texts cannot be read. */
const NARROW = 24

/** Lays out notes in three columns. If they are wider than `width`, their texts are wrapped. */
function layOutNotes(notes: readonly LegendEntry[], width: number, paint: Paint): readonly string[] {
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(({ length }) => length))
  const printable = notes.map((note) => ({ ...note, pointers: note.pointers.map(toPrintable) }))
  const names = widest(notes.map(({ name }) => name)) + 2
  const pointers = widest(printable.flatMap((note) => note.pointers))
  const room = Math.max(NARROW, width - names - GAP - pointers)
  const texts = Math.min(widest(notes.map(({ text }) => text)), room)
  return printable.flatMap(({ name, text, pointers: places }) => {
    const said = breakText(text, texts)
    const where = places.flatMap((place) => breakText(place, width - names - texts - GAP))
    return Array.from({ length: Math.max(said.length, where.length) }, (_, line) => {
      const left = `${(line === 0 ? name : '').padEnd(names)}${said[line] ?? ''}`
      const place = where[line]
      return place === undefined ? left : left.padEnd(names + texts + GAP) + paint('dim', place)
    })
  })
}

/** The options for printing a matrix on a terminal. */
export interface TextOptions {
  /** Colours the text. Default: no colours. */
  readonly paint?: Paint
  /** The maximum length of a line. Default: 100. */
  readonly width?: number
  /** Whether to also print a table of the rules' pointers, and an explanation of the signs. Default: false. */
  readonly isFull?: boolean
}

type TextLayout = Required<TextOptions>

/** Prints a matrix as text: for each collection a table and the meaning of its letters, then the claims. */
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

/** Returns the field names in the cells. */
const namesIn = (rows: readonly MatrixRow[]): ReadonlySet<string> =>
  new Set(rows.flatMap(rulesIn).flatMap(({ fields }) => (fields && 'names' in fields ? fields.names : [])))

const rulesIn = ({ cells }: MatrixRow) => COLUMNS.flatMap((column) => cells[column]?.rules ?? [])

const abbreviateRow = ({ cells }: MatrixRow, letters: Letters): readonly string[] =>
  COLUMNS.map((column) => {
    const cell = cells[column]
    if (!cell) return ''
    return cell.rules.length > 0 ? abbreviate(cell.rules, cell.operation, letters) : NOTHING
  })

/** Replaces a text of several words with the name of an earlier row that has the same text in this column. */
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

/** Returns the index of the first row that has a text in a column. */
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

/** Returns facts that the table itself does not show. */
function remarksOn({ roles }: CollectionMatrix, rows: readonly MatrixRow[]): readonly string[] {
  const isAllShown = rows.every(({ cells: { read, update, delete: removal } }) =>
    [update, removal].every((cell) => isShown(cell?.rules ?? [], read?.rules ?? [])),
  )
  return [
    ...(roles.length > 1 ? [`several roles: ${roles.map(nameRole).join(', ')}`] : []),
    ...(isAllShown ? [] : ['update and delete: only documents that may be read']),
  ]
}

/** Prints the pointers of the rules in each cell, relative to the permissions of the collection. */
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

/** Returns the pointers of the rules of a cell, without the prefix `at`. */
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

/** The meaning of the signs in a table. */
const SIGNS: readonly (readonly [sign: string, meaning: string])[] = [
  ['–', 'nothing'],
  ['all', 'every document, every field'],
  ['title tags', 'only these fields'],
  ['-views', 'all fields except these'],
  ['a', 'documents that meet the condition a, which is shown below; "a, -views": these fields of them'],
  ['set b', 'the values b, shown below, replace those of the body'],
  [
    'then c',
    'after the write, the document must meet the condition c; without "then", the same condition as before; with "then any", none',
  ],
  ['x|y', 'rules that are tried in this order, but rules that drop nothing of the body first'],
  ['x + y', 'rules that add up'],
  ['as user', 'the same as in the row "user" above'],
  ['user', 'signed-in callers; roles without a row have the same rights'],
  ['own', 'rights to documents that the caller created'],
  ['several roles', 'if a caller has several of these roles, they decide a write in this order'],
]

const printKey = ({ paint, width }: TextLayout): readonly string[] => [
  paint('bold', 'signs'),
  ...layOutNotes(
    SIGNS.map(([name, text]) => ({ name, text, pointers: [] })),
    width,
    paint,
  ),
]
