import type { MaybePromise } from '../../types.js'
import type { Turn, TurnLimit, Turns } from './turns.js'

/** An attempt that took no effect; another may. */
export class Lost {
  /** The documents at which it is of use to come in turn. */
  readonly at: readonly string[]
  /** That of them at which others were faster. */
  readonly met: string | undefined
  /** The document at which others were faster, where the attempt only reads it. */
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

/** An attempt that has only seen that others take turns: it does not count. */
export class LeftToOthers extends Lost {}

/** The deadline of a write that waits. */
interface TurnDeadline extends TurnLimit {
  enter(wait: 'turn'): void
}

/** After so many lost attempts, one who only reads a document takes turns with those who write it. */
const LOST_AS_READER = 3

/** So many times as often it tries: a write of others succeeds for each attempt that it loses, also through other processes. */
const TIMES_AS_READER = 10

const mostOf = ({ read }: Lost, attempts: number): number =>
  read === undefined ? attempts : attempts * TIMES_AS_READER

/**
 * Tries again after a lost attempt, so many times in all, in turn at the documents at which others were met. Who is so slow
 * that nobody waits goes on beside those who take turns. Returns the last attempt where all were lost.
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
