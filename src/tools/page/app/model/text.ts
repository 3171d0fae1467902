/** Returns the visible symbol for a control character. */
const show = (character: string): string => {
  const code = character.charCodeAt(0)
  return code === 0x7f ? '\u2421' : String.fromCharCode(0x2400 + code)
}

/** Replaces control characters, except tabs and line ends, with visible symbols. */
export const showControls = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the function replaces them
  text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, show)

/** Returns the beginning of a text in one line. It is never cut inside a character. */
export function shorten(text: string, most: number): string {
  const line = text.slice(0, most * 4).replace(/\s+/g, ' ')
  const points = [...line.slice(0, most * 2)]
  const isCut = points.length > most || line.length < text.replace(/\s+$/, '').length - most * 2
  return points.length > most || isCut ? `${points.slice(0, most).join('')}…` : line
}

/** Returns the URL if a text is a link with `http` or `https`; `undefined` for any other text. */
export function readLink(text: string): string | undefined {
  if (!/^https?:\/\/\S+$/i.test(text) || text.length > 2000) return undefined
  try {
    const { protocol, href } = new URL(text)
    return protocol === 'http:' || protocol === 'https:' ? href : undefined
  } catch {
    return undefined
  }
}

/** Returns a value as one line of text. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  return JSON.stringify(value)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Returns a stored time in the date format of this browser. Any other text is returned unchanged. */
export function describeTime(text: string): string {
  const date = TIME.test(text) ? new Date(text) : undefined
  return date && !Number.isNaN(date.getTime())
    ? date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
    : text
}
