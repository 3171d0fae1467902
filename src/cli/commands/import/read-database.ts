import { basename } from 'node:path'
import { replaceLongIntegers } from '../../../json/json-text.js'
import { isObject } from '../../../json/own-properties.js'
import type { JsonObject } from '../../../types.js'
import { FileError, parseJson, readTextFile } from '../../read-json-file.js'
import { fromExtendedJson } from './extended-json.js'

/** The content of a file: the collections by name, as in json-server. */
export interface Database {
  readonly values: JsonObject
  /** `true` for a file in the form of json-server, whose addresses are then explained. */
  readonly isJsonServer: boolean
  /** The field that holds the keys of a dictionary; absent for every other file. */
  readonly keyField?: string
}

/**
 * Reads a file of json-server, a JSON list of objects, a dictionary of objects, or lines of JSON objects (NDJSON), each
 * with or without MongoDB's Extended JSON. A list, a dictionary and lines are one collection with the name of the file.
 * Throws `FileError`.
 */
export async function readDatabase(file: string): Promise<Database> {
  const text = (await readTextFile(file)).replace(/^\ufeff/, '')
  const value = isLines(file, text) ? parseLines(file, text) : parse(file, text)
  const name = basename(file).replace(/\.[^.]*$/, '')
  if (Array.isArray(value)) return { values: { [name]: value }, isJsonServer: false }
  if (!isObject(value)) throw new FileError(`${file} holds no list of objects, and no object`)
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

/** Lines by the file's extension, or if the first line is an object of its own and others follow. */
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

/** An object with this many members or fewer is not a dictionary. */
const FEW = 20

/**
 * Whether an object is a dictionary: more than 20 members, all of them objects, and at least half of all their
 * properties are of fields that at least half of them have.
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

/** A name for the key field that no member has. */
function freeKeyField(members: readonly JsonObject[]): string {
  const taken = new Set(members.flatMap((member) => Object.keys(member).map((name) => name.toLowerCase())))
  let name = 'key'
  for (let number = 2; taken.has(name); number++) name = `key_${number}`
  return name
}
