import type { Paint } from '../text/paint.js'

/** A line of a grid. */
export interface GridRow {
  readonly cells: readonly string[]
  readonly isHead?: boolean
}

/** The gap after a column. */
const GAP = 2

/** A column of this width, with its gap, keeps it if one space is enough of a gap. */
const USUAL = 22

/** Narrower columns cannot be read. */
const NARROW = 10

/**
 * Lays out rows in columns. If they need more than `width`, the widest ones are narrowed, and their cells wrapped. No
 * line ends in a space.
 */
export function layOutGrid(rows: readonly GridRow[], width: number, paint: Paint): readonly string[] {
  const widths = narrow(naturalWidths(rows), width)
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

/** The last text of a line needs no padding. */
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

/** The last column needs no gap. */
const roomIn = (widths: readonly number[], column: number): number =>
  (widths[column] ?? 0) - (column === widths.length - 1 ? 0 : 1)

function naturalWidths(rows: readonly GridRow[]): readonly number[] {
  const columns = Math.max(0, ...rows.map(({ cells }) => cells.length))
  return Array.from({ length: columns }, (_, column) => {
    const longest = Math.max(0, ...rows.map(({ cells }) => cells[column]?.length ?? 0))
    if (column === columns - 1) return longest
    return longest + 1 === USUAL ? USUAL : longest + GAP
  })
}

/** Narrows the widest column until all fit. */
function narrow(widths: readonly number[], room: number): readonly number[] {
  const fitted = [...widths]
  for (let over = fitted.reduce((sum, width) => sum + width, 0) - room; over > 0; over--) {
    const widest = fitted.indexOf(Math.max(...fitted))
    const width = fitted[widest] ?? 0
    if (width <= NARROW) break
    fitted[widest] = width - 1
  }
  return fitted
}

/** Breaks a text after spaces and bars, else after a slash, else anywhere. */
export function breakText(text: string, room: number): readonly string[] {
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

/** The parts of a word that is too long for a line. */
function shorten(piece: string, room: number): readonly string[] {
  if (piece.trimEnd().length <= room) return [piece]
  return piece
    .split(/(?<=\/)/)
    .flatMap((part) => part.match(new RegExp(`.{1,${Math.max(1, room)}}`, 'gu')) ?? [])
}
