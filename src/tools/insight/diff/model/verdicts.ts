/** Creates a cache of yes-or-no decisions about objects, because each operation needs the same decisions. */
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
