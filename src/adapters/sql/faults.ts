/** A text property of an error; empty where it has none of this name. */
export function textOf(thrown: unknown, name: 'code' | 'severity' | 'constraint'): string {
  const { [name]: text } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    readonly [name: string]: unknown
  }
  return typeof text === 'string' ? text : ''
}
