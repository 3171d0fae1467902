import { whenReady } from '../../promises.js'
import type { Logger, Observe } from '../../types/host.js'
import type { MaybePromise } from '../../types.js'
import {
  type Answer,
  type IncomingRequest,
  isEndless,
  isStream,
  type Respond,
  type TextStream,
} from '../answer.js'
import { observeStream } from '../send-stream.js'
import { Observation } from './observation.js'

/** Answers a request and records its data in `observation`. */
export type RespondObserved = (incoming: IncomingRequest, observation: Observation) => MaybePromise<Answer>

/** Calls `observe` once for each request, when the request is over (CONTRACT.md §8, "Observe"). */
export const observeRequests =
  (respond: RespondObserved, observe: Observe, logger: Logger): Respond =>
  (incoming) => {
    const observation = new Observation(incoming.method)
    const { over, follow } = followAnswer(incoming)
    // Registered before the request is answered, so that `observe` always runs in the async context of the request.
    void over.then(async ([status, isWhole]) => {
      try {
        await observe(observation.end(status, !isWhole))
      } catch (cause) {
        logger.error('options.observe failed', { requestId: observation.requestId, cause })
      }
    })
    return whenReady(respond(incoming, observation), follow)
  }

/**
 * Observes the response that is passed to `follow`. When it was sent, or the client has disconnected, `over` resolves
 * with the status and whether the whole response was sent.
 */
function followAnswer(incoming: IncomingRequest): {
  readonly over: Promise<readonly [status: number, isWhole: boolean]>
  readonly follow: (answer: Answer) => Answer
} {
  let resolve = (_: readonly [number, boolean]): void => {}
  const over = new Promise<readonly [number, boolean]>((settle) => {
    resolve = settle
  })
  let status: number | undefined
  let isSent: boolean | undefined
  const settle = (): void => {
    if (status !== undefined && isSent !== undefined) resolve([status, isSent])
  }
  const end = (isWhole: boolean): void => {
    isSent ??= isWhole
    settle()
  }
  if (incoming.onSent) incoming.onSent(end)
  // Without `onSent`, a body that the client does not read never ends, so the disconnect of the client ends the
  // observation.
  else incoming.onGone(() => end(false))
  return {
    over,
    follow(answer) {
      const { body } = answer
      status = answer.status
      settle()
      if (incoming.onSent) return answer
      if (isStream(body)) return { ...answer, body: followStream(body, end) }
      end(true)
      return answer
    },
  }
}

/** Wraps a stream. `onEnd` is called at its end with whether all of it was read. */
function followStream(stream: TextStream, onEnd: (isWhole: boolean) => void): TextStream {
  let isWhole = false
  const whole: TextStream = {
    async *[Symbol.asyncIterator]() {
      yield* stream
      isWhole = true
    },
    cancel: () => stream.cancel(),
    isEndless: () => isEndless(stream),
  }
  return observeStream(whole, undefined, () => onEnd(isWhole))
}
