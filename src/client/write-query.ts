type Entries = { readonly [name: string]: unknown }

const fault = (at: string, what: string): TypeError => new TypeError(`${at} ${what}`)

const isDate = (value: object): value is Date => typeof (value as Partial<Date>).toISOString === 'function'

const isEntries = (value: unknown): value is Entries =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isDate(value)

/** Writes a value as JSON. Throws for values that JSON would drop or change. */
function writeValue(at: string, value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) {
    return JSON.stringify(value)
  }
  // `Array.from` also visits holes.
  if (Array.isArray(value)) return `[${Array.from(value, (element) => writeValue(at, element))}]`
  if (typeof value === 'object' && isDate(value)) return JSON.stringify(value.toISOString())
  throw fault(at, `takes no ${typeof value === 'number' ? value : typeof value}`)
}

type Add = (name: string, text: string) => void

/**
 * Writes a filter. A condition must never get lost, so an empty one is a fault, and so is a name with
 * brackets.
 */
function writeFilter(at: string, filter: unknown, add: Add): void {
  for (const [name, condition] of namedIn(at, filter)) {
    const inside = `${at}[${name}]`
    if (name === '$or') {
      const groups = Array.isArray(condition) ? Array.from(condition) : []
      if (groups.length === 0) throw fault(inside, 'takes an array of filters')
      for (const [i, group] of groups.entries()) {
        writeFilter(checkFilled(`${inside}[${i}]`, group), group, add)
      }
    } else if (isEntries(condition)) {
      for (const [operator, operand] of namedIn(checkFilled(inside, condition), condition)) {
        const place = `${inside}[${operator}]`
        add(
          place,
          operator === '$options' && typeof operand === 'string' ? operand : writeValue(place, operand),
        )
      }
    } else {
      add(inside, writeValue(inside, condition))
    }
  }
}

function namedIn(at: string, value: unknown): readonly [string, unknown][] {
  if (!isEntries(value)) throw fault(at, 'takes an object')
  const entries = Object.entries(value)
  if (entries.some(([name]) => /[[\]]/.test(name))) throw fault(at, 'takes no brackets in names')
  return entries
}

function checkFilled(at: string, value: unknown): string {
  if (namedIn(at, value).length === 0) throw fault(at, 'is empty')
  return at
}

/**
 * Writes the parameters of a list as a query string (CONTRACT.md §3). Throws `TypeError` for values that it
 * cannot express.
 */
export function writeQuery(parameters: object): string {
  const pairs: string[] = []
  const add: Add = (name, text) => pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || name === 'signal') continue
    if (name === 'q') writeFilter(name, value, add)
    else if (name === 'sort')
      for (const [path, direction] of namedIn(name, value)) add(`sort[${path}]`, String(direction))
    else add(name, writeValue(name, value))
  }
  return pairs.join('&')
}
