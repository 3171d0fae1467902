/** The names that an answer's `Ignored-Properties` lists (CONTRACT.md §7). */
export const readIgnored = (headers: Headers): readonly string[] =>
  [...(headers.get('ignored-properties') ?? '').matchAll(/"([^"]*)"/g)].map(([, name = '']) => name)

/** What was done, and what of it was not. */
export function describeDone(done: string, ignored: readonly string[]): string {
  if (ignored.length === 0) return `${done}.`
  const names = ignored.join(', ')
  return `${done}, but without ${names}: you may not write ${ignored.length === 1 ? 'it' : 'them'} here.`
}
