import type { MaybePromise } from '../../types.js'
import type { Turn, TurnLimit, Turns } from './turns.js'

/** A failed attempt that may be retried. */
export class Lost {
  /** The documents at which the retry should take turns. */
  readonly at: readonly string[]
  /** The document among them at which a concurrent write came first. */
  readonly met: string | undefined
  /** The document at which a concurrent write came first, if the attempt only reads it. */
  readonly read: string | undefined
  /** The key of the agreement that did not hold. */
  readonly broken: string | undefined

  constructor(
    at: readonly string[],
    { met, read, broken }: Partial<Pick<Lost, 'met' | 'read' | 'broken'>> = {},
  ) {
    this.at = at
    this.met = met
    this.read = read
    this.broken = broken
  }
}

/** An attempt that yielded to writers that take turns: it does not count. */
export class LeftToOthers extends Lost {}

/** The deadline of a write that waits. */
interface TurnDeadline extends TurnLimit {
  enter(wait: 'turn'): void
}

/** After this many lost attempts, a writer that only reads a document takes turns with its writers. */
const LOST_AS_READER = 3

/**
 * The factor for the attempts of such a reader: for each attempt that it loses, a concurrent write succeeds, also in
 * other processes.
 */
const TIMES_AS_READER = 10

const mostOf = ({ read }: Lost, attempts: number): number =>
  read === undefined ? attempts : attempts * TIMES_AS_READER

/**
 * Retries after a lost attempt, in turn at the contended documents, up to `attempts` times in total. A writer that is
 * too slow for turns continues without them. Returns the last attempt if all were lost.
 */
export async function tryInTurn<T>(
  turns: Turns,
  attempt: (last: Lost) => MaybePromise<T | Lost>,
  first: Lost,
  { attempts, deadline }: { readonly attempts: number; readonly deadline: TurnDeadline },
): Promise<T | Lost> {
  const contended = new Set<string>()
  let turn: Turn | undefined
  let last = first
  try {
    for (let tried = first instanceof LeftToOthers ? 0 : 1; tried < mostOf(last, attempts); tried += 1) {
      const at = last.read === undefined || tried < LOST_AS_READER ? last.at : [...last.at, last.read]
      const others = at.filter((document) => !contended.has(document))
      if (at.length > 0 && !turn?.isSlow && (others.length > 0 || !turn?.isWhole)) {
        for (const document of others) contended.add(document)
        turn?.end()
        deadline.enter('turn')
        turn = await turns.take(contended, deadline)
      }
      const began = performance.now()
      const result = await attempt(last)
      const lost = result instanceof Lost ? result : undefined
      turn?.tell(performance.now() - began, lost?.met ?? lost?.read)
      if (!(result instanceof Lost)) return result
      last = result
    }
    return last
  } finally {
    turn?.end()
  }
}
