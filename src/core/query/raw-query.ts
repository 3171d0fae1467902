/** The parameters of the query language. Each route accepts some of them. */
export type ParameterName =
  | 'q'
  | 'sort'
  | 'skip'
  | 'after'
  | 'lastEventId'
  | 'limit'
  | 'total'
  | 'project'
  | 'expand'

/** A parsed filter. All its conditions must be true and, if there are groups, at least one group. */
export interface RawFilter {
  /** For each field path: its operators, each with its values in the order of the query string. */
  readonly conditions: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>
  /** The groups of `$or` by their numbers. */
  readonly groups: ReadonlyMap<string, RawFilter>
}

/** A parsed query string before compilation. Every value is a decoded string. */
export interface RawQuery extends RawFilter {
  /** The direction of each field path, in the order of the query string. */
  readonly sort: ReadonlyMap<string, string>
  readonly skip?: string
  readonly after?: string
  readonly lastEventId?: string
  readonly limit?: string
  readonly total?: string
  /** Either one JSON array, or names. */
  readonly project?: readonly string[]
  /** Either one JSON array, or names. */
  readonly expand?: readonly string[]
}
