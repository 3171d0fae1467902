import { basename } from 'node:path'
import { replaceLongIntegers } from '../../../../core/json/json-text.js'
import { isObject } from '../../../../core/json/own-properties.js'
import type { JsonObject } from '../../../../core/types.js'
import { FileError, parseJson, readTextFile } from '../../read-json-file.js'

/**
 * A number in the spelling of the file, because it may have more digits than a JavaScript number can hold: a
 * `$numberLong`, a `$numberDecimal`, or an integer beyond 2^53.
 */
export class WrittenNumber {
  readonly text: string
  /** The equal JavaScript number; `undefined` if no JavaScript number is exactly equal. */
  readonly exact: number | undefined

  constructor(text: string) {
    this.text = text
    this.exact = toExact(text)
  }
}

/** The number of decimal digits that every double preserves (`DBL_DIG`). */
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

/**
 * Converts the content of a wrapper such as `{ "$oid": … }`. Returns `undefined` if the content is not valid; the
 * wrapper is then an ordinary object.
 */
type ReadWrapped = (held: unknown) => unknown

const readText =
  (pattern: RegExp, read: (text: string) => unknown): ReadWrapped =>
  (held) =>
    typeof held === 'string' && pattern.test(held) ? read(held) : undefined

const INTEGER = /^-?\d+$/
const DECIMAL = /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

/**
 * Converts the content of `$date`. Returns `undefined` for a time outside the years 1 to 9999, which a timestamp cannot
 * hold.
 */
function readDate(held: unknown): Date | undefined {
  const plain = isObject(held) && typeof held.$numberLong === 'string' ? Number(held.$numberLong) : held
  if (typeof plain !== 'string' && typeof plain !== 'number') return undefined
  const date = new Date(plain)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? date : undefined
}

/**
 * Converters for the one-member wrappers of MongoDB Extended JSON v2, canonical and relaxed, as `mongoexport` writes
 * them.
 */
const READERS: { readonly [name: string]: ReadWrapped } = {
  $oid: readText(/^[0-9a-f]{24}$/i, (text) => text),
  $date: readDate,
  $numberInt: readText(INTEGER, Number),
  $numberDouble: readText(DECIMAL, Number),
  $numberLong: readText(INTEGER, (text) => new WrittenNumber(text)),
  $numberDecimal: readText(DECIMAL, (text) => new WrittenNumber(text)),
}

/** Replaces each wrapper of Extended JSON in a value with a string, `Date`, number or `WrittenNumber`. */
function fromExtendedJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromExtendedJson)
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const [[name, held] = ['', undefined], ...others] = entries
  const read = others.length === 0 && Object.hasOwn(READERS, name) ? READERS[name]?.(held) : undefined
  if (read !== undefined) return read
  const inner = entries.map(([key, one]): [string, unknown] => [key, fromExtendedJson(one)])
  return Object.fromEntries(inner)
}

/** The content of a file: the collections by name, as in a json-server file. */
export interface Database {
  readonly values: JsonObject
  /** Whether the file has the form of json-server. If so, the command explains what replaces its addresses. */
  readonly isJsonServer: boolean
  /** The name of the field that gets the keys if the file is a dictionary; absent for any other file. */
  readonly keyField?: string
}

/**
 * Reads a json-server file, a JSON list of objects, a dictionary of objects, or lines with JSON objects (NDJSON). All
 * may contain MongoDB's Extended JSON. A list, a dictionary and lines each become one collection with the name of the
 * file. Throws `FileError`.
 */
export async function readDatabase(file: string): Promise<Database> {
  const text = (await readTextFile(file)).replace(/^\ufeff/, '')
  const value = isLines(file, text) ? parseLines(file, text) : parse(file, text)
  const name = basename(file).replace(/\.[^.]*$/, '')
  if (Array.isArray(value)) return { values: { [name]: value }, isJsonServer: false }
  if (!isObject(value)) throw new FileError(`${file} contains neither an object nor a list of objects`)
  if (!isDictionary(value)) return { values: value, isJsonServer: true }
  const keyField = freeKeyField(Object.values(value))
  const documents = Object.entries(value).map(([key, member]) => ({ [keyField]: key, ...member }))
  return { values: { [name]: documents }, isJsonServer: false, keyField }
}

function parse(file: string, text: string): unknown {
  const value = parseJson(file, text)
  const marked = replaceLongIntegers(text, (digits) => `{"$numberLong":"${digits}"}`)
  return fromExtendedJson(marked === text ? value : JSON.parse(marked))
}

/**
 * Whether a file has one JSON value per line: by its extension, or because its first line is a complete object and
 * other lines follow.
 */
function isLines(file: string, text: string): boolean {
  if (/\.(ndjson|jsonl)$/i.test(file)) return true
  const [first = '', ...others] = linesOf(text)
  if (others.length === 0) return false
  try {
    return isObject(JSON.parse(first))
  } catch {
    return false
  }
}

const linesOf = (text: string): readonly string[] => text.split(/\r?\n/).filter((line) => line.trim() !== '')

const parseLines = (file: string, text: string): readonly unknown[] =>
  text
    .split(/\r?\n/)
    .flatMap((line, i) => (line.trim() === '' ? [] : [parse(`line ${i + 1} of ${file}`, line)]))

/** An object with at most this many members is not a dictionary. */
const FEW = 20

/**
 * Whether an object is a dictionary: it has more than `FEW` members, all members are objects, and at least half of
 * their properties are common. A property is common if at least half of the members have one of that name.
 */
function isDictionary(value: JsonObject): value is { readonly [key: string]: JsonObject } {
  const members = Object.values(value)
  if (members.length <= FEW || !members.every(isObject)) return false
  const counts = new Map<string, number>()
  for (const member of members)
    for (const field of Object.keys(member)) counts.set(field, (counts.get(field) ?? 0) + 1)
  const sum = (some: readonly number[]): number => some.reduce((total, count) => total + count, 0)
  const all = [...counts.values()]
  const common = all.filter((count) => 2 * count >= members.length)
  return common.length > 0 && 2 * sum(common) >= sum(all)
}

/** Returns a name for the key field that no member has. */
function freeKeyField(members: readonly JsonObject[]): string {
  const taken = new Set(members.flatMap((member) => Object.keys(member).map((name) => name.toLowerCase())))
  let name = 'key'
  for (let number = 2; taken.has(name); number++) name = `key_${number}`
  return name
}
