/** The codes of errors of dumps and loads. They are stable. */
export type TransferCode =
  /** The adapter has no `snapshot`. */
  | 'no_snapshot'
  /** The storage has none of the collections of the configuration. */
  | 'no_collections'
  /** Sessions are dumped or loaded, but the configuration keeps no accounts. */
  | 'no_accounts'
  /** A line is not JSON, not UTF-8, or not a line of a dump. */
  | 'invalid_line'
  | 'line_too_long'
  /** The input is no dump, or a dump of a later format. */
  | 'unknown_format'
  | 'unknown_collection'
  /** The last line is missing: the dump was cut off. */
  | 'incomplete'
  /** The last line does not agree with the lines before it. */
  | 'wrong_digest'
  /** The storage already contains documents. */
  | 'not_empty'
  /** The storage contains another document with the same `_id`, or documents that the dump lacks. */
  | 'different_document'
  /** Two documents have the same values in a unique field. */
  | 'unique_violation'
  /** The output or the input failed or was closed. */
  | 'output_failed'
  | 'input_failed'
  | 'interrupted'

/** The error of a dump or a load. Its message names the line or the document, what was found, and what is allowed. */
export class TransferError extends Error {
  readonly code: TransferCode
  /** The number of the line in the dump, from 1; `undefined` if the error concerns no line. */
  readonly line: number | undefined

  constructor(
    code: TransferCode,
    message: string,
    { line, cause }: { readonly line?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(line === undefined ? message : `line ${line}: ${message}`, cause === undefined ? {} : { cause })
    this.name = 'TransferError'
    this.code = code
    this.line = line
  }
}
