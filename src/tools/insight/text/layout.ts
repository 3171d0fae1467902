/** The maximum length of a printed line. */
export const WIDTH = 100

/** Breaks text into lines at spaces. A word that is wider than a line has a line of its own. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

/**
 * Lays out rows in columns two spaces apart. Each column is as wide as its widest cell. If the rows are wider than
 * `width`, the widest columns are narrowed and their cells wrapped. No line ends in a space.
 */
export function layOut(rows: readonly (readonly string[])[], width: number = WIDTH): readonly string[] {
  const widths = narrow(widthsOf(rows), width - GAP * Math.max(0, columnsOf(rows) - 1), LEAST)
  return rows.flatMap((row) => {
    const cells = row.map((cell, column) => wrap(cell, widths[column] ?? 1))
    const height = Math.max(1, ...cells.map((lines) => lines.length))
    return Array.from({ length: height }, (_, index) => layOutLine(cells, index, widths))
  })
}

const layOutLine = (
  cells: readonly (readonly string[])[],
  index: number,
  widths: readonly number[],
): string =>
  cells
    .map((lines, column) => (lines[index] ?? '').padEnd(widths[column] ?? 0))
    .join(' '.repeat(GAP))
    .trimEnd()

/** Lays out a Markdown table. Bars in cells are escaped. */
export function layOutMarkdown(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const lineOf = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [lineOf(head), lineOf(head.map(() => '---')), ...rows.map(lineOf)]
}

const GAP = 2

const columnsOf = (rows: readonly (readonly string[])[]): number =>
  Math.max(0, ...rows.map((row) => row.length))

const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] =>
  Array.from({ length: columnsOf(rows) }, (_, column) =>
    Math.max(1, ...rows.map((row) => row[column]?.length ?? 0)),
  )

/** Narrows the widest column repeatedly until all columns fit, or the widest has the minimum width `least`. */
export function narrow(widths: readonly number[], room: number, least: number): readonly number[] {
  const narrowed = [...widths]
  for (let over = narrowed.reduce((sum, width) => sum + width, 0) - room; over > 0; over--) {
    const widest = narrowed.indexOf(Math.max(...narrowed))
    const width = narrowed[widest] ?? 0
    if (width <= least) break
    narrowed[widest] = width - 1
  }
  return narrowed
}

/** The minimum width of a column. Narrower columns cannot be read. */
const LEAST = 12
