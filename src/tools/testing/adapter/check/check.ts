/** Equality of JSON: own properties in any order, numbers and strings by value. */
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

/** Prints JSON in ASCII, because texts that look alike must not print alike. */
export function print(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Longer values are unreadable. */
const MAX_PRINTED = 4000

/** Prints a value, cut if it is too long. */
export function printShort(value: unknown): string {
  const text = print(value)
  return text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}… (${text.length} characters)` : text
}

/** Throws unless two values are the same JSON. `what` is a function if it is expensive to compute. */
export function checkSame(actual: unknown, expected: unknown, what: string | (() => string)): void {
  if (isSame(actual, expected)) return
  const said = typeof what === 'string' ? what : what()
  throw new Error(`${said}\n  expected: ${printShort(expected)}\n  actual:   ${printShort(actual)}`)
}

/** Throws `what` unless the condition holds. */
export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what)
}

/** The error of a rejected promise, as text; `undefined` if it resolved. */
export async function rejectionOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}
