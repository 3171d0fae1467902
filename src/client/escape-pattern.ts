/**
 * Returns the pattern for `$regex` that matches the strings which contain this text.
 *
 * @example
 * ```ts
 * const found = await notes.list({ q: { title: { $regex: escapePattern('1.5 (draft)'), $options: 'i' } } })
 * ```
 */
export const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
