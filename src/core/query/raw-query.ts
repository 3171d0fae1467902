/** The parameters of the query language; each route takes some of them. */
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

/** A parsed filter: all its conditions must hold and, if there are groups, at least one of the groups. */
export interface RawFilter {
  /** Field path → operator → its values, in the order of the query string. */
  readonly conditions: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>
  /** The groups of `$or` by their numbers. */
  readonly groups: ReadonlyMap<string, RawFilter>
}

/** A parsed query string, not yet compiled: every value is decoded text. */
export interface RawQuery extends RawFilter {
  /** Field path → direction, in the order of the query string. */
  readonly sort: ReadonlyMap<string, string>
  readonly skip?: string
  readonly after?: string
  readonly lastEventId?: string
  readonly limit?: string
  readonly total?: string
  /** One JSON array, or names. */
  readonly project?: readonly string[]
  /** One JSON array, or names. */
  readonly expand?: readonly string[]
}
