/** Draws an `_id` that is not between `after` and `last`, so that the walk that makes the document does not reach it. */
export function drawIdBeyond(
  createId: () => string,
  { after, last }: { readonly after: string; readonly last: string },
): string {
  const id = createId()
  if (id <= after || id > last) return id
  const random = crypto.randomUUID()
  const place = [...last].findIndex((digit, i) => isRandom(i) && digit !== 'f')
  if (place === -1) return id
  const above = Number.parseInt(last[place] ?? '', 16) + 1
  const digit = above + (Number.parseInt(random[place] ?? '', 16) % (16 - above))
  return last.slice(0, place) + digit.toString(16) + random.slice(place + 1)
}

/** Whether a character of a UUID is a random digit: neither a hyphen nor in the version or the variant. */
const isRandom = (i: number): boolean => ![8, 13, 14, 18, 19, 23].includes(i)
