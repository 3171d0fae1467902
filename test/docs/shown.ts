/** A bare `…` in an array or object that a page shows: more may follow. */
const MORE = '\u0000more'

/**
 * JSON as a page shows it. In a text, `…` is any text; bare, as the last element or property, it is any others.
 *
 * @example
 * readShown('[{ "_id": "…", "title": "Fire", … }, …]')
 */
export function readShown(text: string): unknown {
  const open: string[] = []
  const whole = text.replaceAll(/"(?:[^"\\]|\\.)*"|[[{}\]]|…/g, (token) => {
    if (token === '[' || token === '{') open.push(token)
    if (token === ']' || token === '}') open.pop()
    if (token !== '…') return token
    return open.at(-1) === '{' ? `${JSON.stringify(MORE)}:true` : JSON.stringify(MORE)
  })
  return JSON.parse(whole)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const escapePattern = (text: string): string => text.replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&')

/** Whether a text is what a page shows, in which `…` is any text without quotes, or what `hole` says. */
export const fits = (shown: string, text: string, hole = '[^"]+?'): boolean =>
  new RegExp(`^${shown.split('…').map(escapePattern).join(hole)}$`, 's').test(text)

/** A value with the texts and parts of `shown` where `…` covers its own: equal to `shown` where the page is true. */
export function mask(value: unknown, shown: unknown): unknown {
  if (typeof value === 'string' && typeof shown === 'string') return fits(shown, value) ? shown : value
  if (Array.isArray(value) && Array.isArray(shown)) {
    const isOpen = shown.at(-1) === MORE
    const length = isOpen ? Math.min(value.length, shown.length - 1) : value.length
    const items = value.slice(0, length).map((item, i) => mask(item, shown[i]))
    return isOpen ? [...items, MORE] : items
  }
  if (!isObject(value) || !isObject(shown)) return value
  const isOpen = MORE in shown
  const names = Object.keys(value).filter((name) => !isOpen || Object.hasOwn(shown, name))
  const masked = Object.fromEntries(names.map((name) => [name, mask(value[name], shown[name])]))
  return isOpen ? { ...masked, [MORE]: true } : masked
}
