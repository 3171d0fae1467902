import type { Fault } from '../../core/errors.js'
import { findUnstorable } from '../../core/json/domain.js'
import { findTextFault } from '../../core/json/json-text.js'
import { isObject } from '../../core/json/own-properties.js'
import { reportFirst } from '../../core/json/report.js'
import type { StoredDocument } from '../../core/storage.js'
import type { JsonObject } from '../../core/types.js'
import { type DumpedDocument, FORMAT, type Tallies, VERSION } from './dump-format.js'
import type { Line } from './read-lines.js'
import { TransferError } from './transfer-error.js'

/** Parses a line. `cutOff` returns the error for a last line that was cut off. */
export function parseObject({ text, number, isWhole }: Line, cutOff: () => TransferError): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (!isWhole) throw cutOff()
    const { message = 'not valid', column = 1 } = findTextFault(text) ?? {}
    throw invalid(`is not JSON: ${message} at column ${column}`, number)
  }
  if (!isObject(value)) throw invalid('must be a JSON object', number)
  return value
}

const invalid = (message: string, line: number): TransferError =>
  new TransferError('invalid_line', message, { line })

/** Returns the collections in the first line. */
export function parseHead({ format, version, collections }: JsonObject, line: number): readonly string[] {
  if (format !== FORMAT)
    throw new TransferError(
      'unknown_format',
      `is not the first line of a dump, which begins with {"format":"${FORMAT}","version":${VERSION},`,
      { line },
    )
  if (version !== VERSION)
    throw new TransferError(
      'unknown_format',
      `the dump has the version ${JSON.stringify(version)}, but this release reads version ${VERSION}`,
      { line },
    )
  if (!isListOfNames(collections)) throw invalid('"collections" must be a list of different names', line)
  return collections
}

const isListOfNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.every((name) => typeof name === 'string') &&
  new Set(value).size === value.length

/** Returns the document of a line. */
export function parseDocument(value: JsonObject, line: number): DumpedDocument {
  const { in: name, document } = value
  if (typeof name !== 'string' || !isObject(document))
    throw invalid('must be {"in":"<collection>","document":{…}}', line)
  const { _id, _version } = document
  if (typeof _id !== 'string' || _id === '') throw invalid('the document must have an "_id", a string', line)
  if (!Number.isSafeInteger(_version) || Number(_version) < 0)
    throw invalid('the document must have a "_version", an integer from 0 to 2^53 - 1', line)
  const faults: Fault[] = []
  findUnstorable(document, reportFirst(faults, 1))
  const [fault] = faults
  if (fault) throw invalid(`${fault.path} of the document ${fault.message}`, line)
  return { in: name, document: document as StoredDocument }
}

/** Returns the counts and digests in the last line. */
export function parseEnd({ end }: JsonObject, line: number, collections: readonly string[]): Tallies {
  const isEnd =
    isObject(end) &&
    Object.keys(end).length === collections.length &&
    collections.every((name) => isTally(end[name]))
  if (!isEnd)
    throw invalid(
      '"end" must have {"documents":<count>,"sha256":"<digest>"} for each collection of the first line',
      line,
    )
  return end as Tallies
}

const isTally = (value: unknown): boolean =>
  isObject(value) && Number.isSafeInteger(value.documents) && /^[\da-f]{64}$/.test(String(value.sha256))
