/** A line of a ledger that several processes keep: what one of them did with a version of a document. */
export interface LedgerLine {
  readonly what: 'begin' | 'end' | 'fail'
  readonly by: string
  readonly lease: number
  readonly code: string
  readonly n: number
}

/**
 * What is wrong with a ledger in which the versions of each document, from 1 to `last`, have to be; empty for
 * nothing. What a process does under a lease that is smaller than one before is not looked at: whatever is fenced
 * would refuse it.
 */
export function checkLedger(
  lines: readonly LedgerLine[],
  last: ReadonlyMap<string, number>,
): readonly string[] {
  const holders = new Map<number, string>()
  const done = new Map<string, Set<number>>()
  const open = new Map<string, LedgerLine & { readonly turn: number }>()
  const faults: string[] = []
  let highest = 0
  /** Grows whenever another process goes on. */
  let turn = 0
  for (const line of lines) {
    const { what, by, lease, code, n } = line
    const fault = (text: string): void => void faults.push(`${JSON.stringify(line)}: ${text}`)
    const holder = holders.get(lease)
    if (holder !== undefined && holder !== by) fault(`${holder} had the same lease`)
    holders.set(lease, by)
    if (lease < highest && holders.get(highest) !== by) continue
    if (holders.get(highest) !== by) turn += 1
    highest = Math.max(highest, lease)
    const handled = done.get(code) ?? new Set()
    done.set(code, handled)
    const begun = open.get(code)
    if (what === 'begin') {
      // What ended after another process had gone on was not looked at.
      if (begun?.by === by && begun.turn === turn) fault(`begun before ${begun.n} has ended`)
      if (n > 1 && !handled.has(n - 1)) fault(`begun before ${n - 1} was handled`)
      open.set(code, { ...line, turn })
    } else {
      if (begun?.by !== by || begun.n !== n) fault('ended, and not begun')
      if (what === 'end') handled.add(n)
      open.delete(code)
    }
  }
  for (const [code, end] of last)
    for (let n = 1; n <= end; n++) if (!done.get(code)?.has(n)) faults.push(`${code} ${n} was not handled`)
  return faults
}
