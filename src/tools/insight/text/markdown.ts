import { toPrintable } from '../../../core/start/printable.js'

/**
 * Writes text as a Markdown code span on one line, with every character visible. There are more backticks around the
 * text than in any sequence inside (CommonMark 6.1).
 */
export function toCode(raw: string): string {
  const text = toPrintable(raw)
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const mark = '`'.repeat(longest + 1)
  return longest > 0 ? `${mark} ${text} ${mark}` : `${mark}${text}${mark}`
}

/** Writes text on one line, with every character visible and Markdown syntax escaped. */
export const toMarkdown = (raw: string): string => toPrintable(raw).replace(/[\\`*_[\]<>|]/g, '\\$&')
