/**
 * The position of the next page: its cursor, its `skip`, or both (`skip` is 0 if there is only a cursor). `undefined`
 * after the last page.
 */
export const placeOf = (headers: Headers) => {
  const after = headers.get('next-cursor') ?? undefined
  const skip = Number(headers.get('next-skip'))
  return after || skip ? { after, skip } : undefined
}

/** The names in the header `Ignored-Properties` of an answer (CONTRACT.md §6, "Headers"). */
export const namesIn = (headers: Headers): readonly string[] =>
  headers.get('ignored-properties')?.match(/\w+/g) ?? []
