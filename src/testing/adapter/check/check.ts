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
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  return (
    left.size === right.size &&
    [...left].every(([name, value]) => right.has(name) && isSame(value, right.get(name)))
  )
}

/** Prints JSON in ASCII: texts that look alike must not print alike. */
export function print(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A longer value does not help anyone. */
const MAX_PRINTED = 4000

/** Prints a value, cut where it gets too long. */
export function printShort(value: unknown): string {
  const text = print(value)
  return text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}… (${text.length} characters)` : text
}

/** Throws unless two values are the same JSON. */
export function checkSame(actual: unknown, expected: unknown, what: string): void {
  if (isSame(actual, expected)) return
  throw new Error(`${what}\n  expected: ${printShort(expected)}\n  actual:   ${printShort(actual)}`)
}

/** Throws `what` unless the condition holds. */
export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what)
}

/** The error of a rejected promise, as text; `undefined` where it resolved. */
export async function rejectionOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}
