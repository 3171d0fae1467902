/** What a spreadsheet would run as a formula begins so. */
const FORMULA = /^[=+\-@\t\r\n]/

/** A cell as RFC 4180 has it. Text that a spreadsheet would run stays text: an apostrophe comes before it. */
export function writeCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) || safe !== text ? `"${safe.replace(/"/g, '""')}"` : safe
}

/** A line, with its end. */
export const writeRow = (values: readonly unknown[]): string => `${values.map(writeCell).join(',')}\r\n`

/** The value at a path, through objects. */
export const valueAt = (document: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? (value as { readonly [name: string]: unknown })[name]
          : undefined,
      document,
    )

/** The line of a document. */
export const writeDocument = (columns: readonly string[], document: unknown): string =>
  writeRow(columns.map((path) => valueAt(document, path)))
