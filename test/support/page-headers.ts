/** The fault of the headers that lead to the next page (CONTRACT.md §3.7); `undefined` where there is none. */
export function judgePlace(headers: { readonly [name: string]: string }): string | undefined {
  const { link, 'next-cursor': cursor, 'next-skip': skip } = headers
  if (cursor === undefined && skip === undefined) return link === undefined ? undefined : 'a Link alone'
  if (cursor !== undefined && skip !== undefined) return 'two places'
  if (cursor !== undefined && !/^[\w-]{1,1024}$/.test(cursor)) return `the cursor ${cursor}`
  if (skip !== undefined && !/^[1-9]\d{0,15}$/.test(skip)) return `the skip ${skip}`
  if (link === undefined) return undefined
  if (link.length > 2048) return `a Link of ${link.length} bytes`
  const place = cursor === undefined ? `skip=${skip}` : `after=${cursor}`
  return new RegExp(`[?&]${place}>; rel="next"$`).test(link) ? undefined : `another place in the Link ${link}`
}
