/** The options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal
}
