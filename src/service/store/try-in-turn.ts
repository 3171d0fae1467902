import type { MaybePromise } from '../../types.js'
import type { Turn, Turns } from './turns.js'

/** An attempt that took no effect; another may. */
export class Lost {
  /** The documents that it would have written, and the one that others have written, or write. */
  readonly at: readonly string[]
  /** Whether the storage was asked: one that has only seen that others take turns does not count. */
  readonly isAsked: boolean
  /** The key of the agreement that did not hold. */
  readonly broken: string | undefined

  constructor(
    at: readonly string[],
    { isAsked = true, broken }: { isAsked?: boolean; broken?: string | undefined } = {},
  ) {
    this.at = at
    this.isAsked = isAsked
    this.broken = broken
  }
}

/**
 * Tries again after a lost attempt: in turn, at all documents that are written and at those at which others were met. Returns
 * the last attempt, where it has lost as many as it may.
 */
export async function tryInTurn<T>(
  turns: Turns,
  attempt: (last: Lost) => MaybePromise<T | Lost>,
  first: Lost,
  attempts: number,
): Promise<T | Lost> {
  const contended = new Set<string>()
  let turn: Turn | undefined
  let last = first
  try {
    for (let tried = first.isAsked ? 1 : 0; tried < attempts; tried += 1) {
      const others = last.at.filter((document) => !contended.has(document))
      if (others.length > 0) {
        for (const document of others) contended.add(document)
        turn?.end()
        turn = await turns.take(contended)
      }
      const began = performance.now()
      const result = await attempt(last)
      turn?.tell(performance.now() - began, result instanceof Lost)
      if (!(result instanceof Lost)) return result
      last = result
    }
    return last
  } finally {
    turn?.end()
  }
}
