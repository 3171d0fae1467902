import { isObject } from '../../../json/own-properties.js'

/**
 * A number as written, if it may have more digits than a JavaScript number: `$numberLong`, `$numberDecimal`, and
 * integers beyond 2^53.
 */
export class WrittenNumber {
  readonly text: string
  /** The number, if a JavaScript number is exactly equal; else `undefined`. */
  readonly exact: number | undefined

  constructor(text: string) {
    this.text = text
    this.exact = toExact(text)
  }
}

/** The digits that every double keeps (`DBL_DIG`). */
const KEPT_DIGITS = 15

function toExact(text: string): number | undefined {
  const value = Number(text)
  if (Number.isSafeInteger(value) && /^-?\d+$/.test(text)) return value
  const digits = text
    .replace(/e.*$/i, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
  const isKept = Number.isFinite(value) && digits.length <= KEPT_DIGITS && (value !== 0 || digits === '')
  return isKept && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? value : undefined
}

/** Reads the content of a wrapper; `undefined` if it is not valid, and stays an object. */
type ReadWrapped = (held: unknown) => unknown

const readText =
  (pattern: RegExp, read: (text: string) => unknown): ReadWrapped =>
  (held) =>
    typeof held === 'string' && pattern.test(held) ? read(held) : undefined

const INTEGER = /^-?\d+$/
const DECIMAL = /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

/** A time within the years of a timestamp. */
function readDate(held: unknown): Date | undefined {
  const plain = isObject(held) && typeof held.$numberLong === 'string' ? Number(held.$numberLong) : held
  if (typeof plain !== 'string' && typeof plain !== 'number') return undefined
  const date = new Date(plain)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? date : undefined
}

/** MongoDB Extended JSON v2, canonical and relaxed, as `mongoexport` writes it: the wrappers with one member. */
const READERS: { readonly [name: string]: ReadWrapped } = {
  $oid: readText(/^[0-9a-f]{24}$/i, (text) => text),
  $date: readDate,
  $numberInt: readText(INTEGER, Number),
  $numberDouble: readText(DECIMAL, Number),
  $numberLong: readText(INTEGER, (text) => new WrittenNumber(text)),
  $numberDecimal: readText(DECIMAL, (text) => new WrittenNumber(text)),
}

/** The value with text, `Date`, number or `WrittenNumber` in place of each wrapper of Extended JSON. */
export function fromExtendedJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromExtendedJson)
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const [[name, held] = ['', undefined], ...others] = entries
  const read = others.length === 0 && Object.hasOwn(READERS, name) ? READERS[name]?.(held) : undefined
  if (read !== undefined) return read
  const inner = entries.map(([key, one]): [string, unknown] => [key, fromExtendedJson(one)])
  return Object.fromEntries(inner)
}
