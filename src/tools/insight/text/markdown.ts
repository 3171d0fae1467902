import { toPrintable } from '../../../core/start/printable.js'

/** A span of code on one line, every character visible; its marks are longer than any inside (CommonMark 6.1). */
export function toCode(raw: string): string {
  const text = toPrintable(raw)
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const mark = '`'.repeat(longest + 1)
  return longest > 0 ? `${mark} ${text} ${mark}` : `${mark}${text}${mark}`
}

/** A text on one line, every character visible, with the marks of Markdown escaped. */
export const toMarkdown = (raw: string): string => toPrintable(raw).replace(/[\\`*_[\]<>|]/g, '\\$&')
