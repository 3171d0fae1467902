/** Matches text that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r\n]/

/** Writes a cell as RFC 4180 says. An apostrophe before a possible formula makes spreadsheets show it as text. */
export function writeCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) || safe !== text ? `"${safe.replace(/"/g, '""')}"` : safe
}

/** Writes a row with its line end. */
export const writeRow = (values: readonly unknown[]): string => `${values.map(writeCell).join(',')}\r\n`

/** Returns the value at a dotted path, which may lead through objects. */
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

/** Writes the row of a document. */
export const writeDocument = (columns: readonly string[], document: unknown): string =>
  writeRow(columns.map((path) => valueAt(document, path)))
