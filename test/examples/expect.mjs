/** Throws unless two values have the same JSON. */
export function expect(what, actual, expected) {
  if (JSON.stringify(actual) === JSON.stringify(expected)) return
  throw new Error(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(actual)}`)
}
