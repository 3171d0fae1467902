import type { ServiceError } from '../../../errors.js'
import type { Caller } from './connections.js'

/** Those for whom one statement is run: it is given up when the last of them has left. */
export interface Crowd extends Caller {
  /** Begins to listen to the signals of all. */
  listen(): void
  hasLeft(member: CrowdMember): boolean
  /** Stops listening. */
  end(): void
}

/** One of a crowd. */
export interface CrowdMember {
  readonly caller: Caller
  readonly reject: (thrown: unknown) => void
}

/** Creates a crowd. `leaving`: the error for one who leaves. */
export function createCrowd(
  members: readonly CrowdMember[],
  leaving: (cause: unknown) => ServiceError,
): Crowd {
  const listening: (readonly [signal: AbortSignal, leave: () => void])[] = []
  const gone = new Set<CrowdMember>()
  let controller: AbortController | undefined
  const signalOf = (): AbortSignal => {
    controller ??= new AbortController()
    if (gone.size === members.length) controller.abort()
    return controller.signal
  }
  return {
    get signal() {
      return signalOf()
    },
    listen() {
      for (const member of members) {
        const { signal } = member.caller
        if (!signal) continue
        const leave = (): void => {
          gone.add(member)
          member.reject(leaving(signal.reason))
          signalOf()
        }
        listening.push([signal, leave])
        if (signal.aborted) leave()
        else signal.addEventListener('abort', leave, { once: true })
      }
    },
    hasLeft: (member) => gone.has(member),
    end() {
      for (const [signal, leave] of listening) signal.removeEventListener('abort', leave)
    },
  }
}
