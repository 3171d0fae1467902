/** Freezes a value and all that is in it. What is frozen already is taken to be so throughout. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) freezeDeep(inner)
  return Object.freeze(value)
}
