/** Whether two values are equal as JSON. The order of properties does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a === b
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((value, i) => isSame(value, b[i]))
    )
  }
  const left = Object.entries(a)
  const right = b as { readonly [name: string]: unknown }
  return (
    left.length === Object.keys(right).length &&
    left.every(([name, value]) => Object.hasOwn(right, name) && isSame(value, right[name]))
  )
}

/** Prints JSON in ASCII, so that different strings that look alike are printed differently. */
export function print(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The maximum number of printed characters, because longer values are unreadable. */
const MAX_PRINTED = 4000

/** Prints a value, and cuts the text if it is too long. */
export function printShort(value: unknown): string {
  const text = print(value)
  return text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}… (${text.length} characters)` : text
}

/**
 * Throws unless two values are equal as JSON. `what` names the compared value. It may be a function, if computing the
 * name is expensive.
 */
export function checkSame(actual: unknown, expected: unknown, what: string | (() => string)): void {
  if (isSame(actual, expected)) return
  const said = typeof what === 'string' ? what : what()
  throw new Error(`${said}\n  expected: ${printShort(expected)}\n  actual:   ${printShort(actual)}`)
}

/** Throws an error with the message `what` unless the condition is true. */
export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what)
}

/** Returns the error message of a rejected promise, or `undefined` if it resolved. */
export async function rejectionOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}
