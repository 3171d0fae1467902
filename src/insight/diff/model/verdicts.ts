/** Creates a memory of what was decided about an object: the same questions are asked for each operation. */
export function createVerdicts<Owner extends object>() {
  const decided = new WeakMap<Owner, Map<string, boolean>>()
  return (owner: Owner, question: string, decide: () => boolean): boolean => {
    const known = decided.get(owner) ?? new Map<string, boolean>()
    decided.set(owner, known)
    const verdict = known.get(question) ?? decide()
    known.set(question, verdict)
    return verdict
  }
}
