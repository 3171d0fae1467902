import { type Fault, ServiceError } from '../errors.js'
import { isUnderflow, MAX_DEPTH } from '../json/domain.js'
import { isObject } from '../json/own-properties.js'
import { toPointerPart } from '../json/pointer.js'
import { whenReady } from '../promises.js'
import { invalid } from '../request/refusals.js'
import { inSlices } from '../slices.js'
import type { JsonObject, MaybePromise } from '../types.js'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The number of bytes of a body that count as one step of a slice. */
const BYTES_A_STEP = 8

/**
 * Parses a body when its turn comes: if many large bodies arrive at the same time, they are parsed one after another.
 */
export const parseInTurn = (
  bytes: Uint8Array,
  depth: number,
  signal: () => AbortSignal,
): MaybePromise<JsonObject> =>
  inSlices((slices) => {
    slices.left -= bytes.length / BYTES_A_STEP
    return whenReady(slices.left > 0 ? undefined : slices.next(), () => parseBody(bytes, depth))
  }, signal)

/**
 * Parses a body, which must be a JSON object. Throws `invalid_json` and `validation_failed` (CONTRACT.md §4).
 *
 * @param depth the level of the body at which documents begin; unless it is 0, `__proto__` is not searched for
 */
function parseBody(bytes: Uint8Array, depth = 0): JsonObject {
  const text = decode(bytes)
  if (isNestedTooDeep(text, MAX_DEPTH + depth))
    throw malformed(`The body is nested more than ${MAX_DEPTH} levels deep.`)
  const body = parse(text)
  if (depth === 0) refuseProto(body, text)
  if (!isObject(body)) throw invalid([{ path: '', code: 'wrong_type', message: 'must be an object' }])
  return body
}

const malformed = (detail: string): ServiceError => new ServiceError('invalid_json', detail)

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw malformed('The body is not valid UTF-8.')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(mayUnderflow(text) ? markUnderflows(text) : text)
  } catch {
    throw malformed(text.trim() === '' ? 'The body is empty.' : 'The body is not valid JSON.')
  }
}

/** Whether JSON text may contain a number so close to zero that parsing would turn it into zero. */
const mayUnderflow = (text: string): boolean =>
  ((text.includes('e-') || text.includes('E-')) && /[eE]-\d{3}/.test(text)) || text.includes(ZEROS)

const ZEROS = '0'.repeat(200)
const NUMBER = /-?\d[\d.eE+-]*/y

/** Replaces numbers that would underflow to zero with a number out of range, which the schema then rejects. */
function markUnderflows(text: string): string {
  let marked = ''
  let from = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') {
      i = findEscapedEnd(text, i + 1)
      if (i < 0) break
      continue
    }
    // A number can begin only with a minus sign or a digit.
    const code = text.charCodeAt(i)
    if (code !== 0x2d && (code < 0x30 || code > 0x39)) continue
    NUMBER.lastIndex = i
    const [number] = NUMBER.exec(text) ?? []
    if (number === undefined) continue
    if (isUnderflow(number)) {
      marked += `${text.slice(from, i)}1e999`
      from = i + number.length
    }
    i += number.length - 1
  }
  return marked + text.slice(from)
}

/** Whether brackets outside strings are nested too deep. Checked before recursive code handles the body. */
function isNestedTooDeep(text: string, most: number): boolean {
  if (!hasMany('[', text) && !hasMany('{', text)) return false
  const findEnd = text.includes('\\') ? findEscapedEnd : findPlainEnd
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // "
        i = findEnd(text, i + 1)
        if (i < 0) return false
        break
      case 0x5b: // [
      case 0x7b: // {
        depth++
        if (depth > most) return true
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
        break
    }
  }
  return false
}

/** Returns the end of a JSON string in text without escapes; negative if the string does not end. */
const findPlainEnd = (text: string, start: number): number => text.indexOf('"', start)

/** Like `findPlainEnd`, for text that may contain escapes. */
function findEscapedEnd(text: string, start: number): number {
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) return i
    if (code === 0x5c) i++
  }
  return -1
}

/** Whether a text contains a bracket more than `MAX_DEPTH / 2` times. Few texts do, and this search is fast. */
function hasMany(bracket: string, text: string): boolean {
  let place = text.indexOf(bracket)
  for (let found = 1; place >= 0 && found <= MAX_DEPTH / 2; found++) place = text.indexOf(bracket, place + 1)
  return place >= 0
}

/** Rejects a property `__proto__` at any depth. Only text that can contain one, escaped or not, is searched. */
function refuseProto(body: unknown, text: string): void {
  if (!text.includes('__proto__') && !text.includes('\\u')) return
  const path = findProto(body)
  if (path !== undefined) throw invalid([forbidProto(path)])
}

/** Creates the validation error for a property `__proto__`. */
export const forbidProto = (path: string): Fault => ({
  path,
  code: 'forbidden_name',
  message: 'is not a name that a property may have',
})

/** Returns the path to the first property `__proto__` inside a value; `undefined` if there is none. */
export function findProto(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // The loop may include inherited properties, but none of them is named `__proto__`.
  for (const name in value) {
    const found = name === '__proto__' ? '' : findProto((value as JsonObject)[name])
    if (found !== undefined) return toPointerPart(name) + found
  }
  return undefined
}

const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.+-]{1,100}\+json)$/

/** The longest `Content-Type` that is parsed, in characters. Longer ones are rejected. */
const MAX_CONTENT_TYPE = 256

/**
 * Rejects a body that does not count as JSON (CONTRACT.md §4). `text/plain` and a missing type count as JSON, unless
 * the host identifies callers: pages of other origins could then send such a body, with cookies, without a preflight.
 * Throws `unsupported_media_type`.
 */
export function checkMediaType(
  contentType: string | undefined,
  contentEncoding: string | undefined,
  options: { readonly onlyJson: boolean },
): void {
  // Fast path: nearly all clients send this.
  if (contentType === 'application/json' && contentEncoding === undefined) return
  const encoding = contentEncoding?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'The body must be sent without a content encoding.')
  }
  const written = contentType ?? ''
  const [type = '', ...parameters] =
    written.length > MAX_CONTENT_TYPE
      ? ['too long']
      : written.split(';').map((part) => part.trim().toLowerCase())
  const isAccepted = JSON_TYPE.test(type) || (!options.onlyJson && (type === '' || type === 'text/plain'))
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset'))
  if (isAccepted && charsets.every((charset) => /^charset="?utf-?8"?$/.test(charset))) return
  throw new ServiceError('unsupported_media_type', 'The body must be sent as application/json in UTF-8.')
}
