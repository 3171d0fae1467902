import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { Logger, RequestEvent } from '../../core/types/host.js'
import type { ServiceOptions } from '../../core/types.js'
import type { Answering } from './listen.js'
import type { WriteEntry } from './log-entry.js'
import { createRejectionLog } from './log-rejected.js'
import type { Terminal } from './terminal.js'

/** The options of the service for its log, and how a server logs its requests. */
export interface RequestLog extends Answering {
  readonly options: Pick<ServiceOptions, 'logger' | 'observe'>
}

/**
 * Returns the address of the client of a request. It is called when the request arrives, because Node no longer knows
 * the address when the client has disconnected.
 */
type FindAddress = (request: IncomingMessage) => string | undefined

/** Returns the path of a request. The query is not logged, because it may be private. */
const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?')[0] ?? ''

/** Whether a probe got the usual response. Probes come every few seconds, so only their failures are logged. */
const isQuietProbe = (request: IncomingMessage, { statusCode }: ServerResponse): boolean =>
  statusCode === 200 && /\/_health\/(?:live|ready)\/?$/.test(pathOf(request))

/** Creates the log of the requests that `answer` answers, as JSON if the terminal writes entries. */
export const createRequestLog = (
  answer: Answering['answer'],
  findAddress: FindAddress,
  { print, writeEntry }: Pick<Terminal, 'print' | 'writeEntry'>,
): RequestLog =>
  writeEntry ? logEntries(answer, findAddress, writeEntry) : logText(answer, findAddress, print)

function logText(
  answer: Answering['answer'],
  findAddress: FindAddress,
  print: (line: string) => void,
): RequestLog {
  return {
    options: {},
    answer,
    onRequest(request, response) {
      const start = performance.now()
      const address = findAddress(request) ?? ''
      return () => {
        if (isQuietProbe(request, response)) return
        const status = response.writableFinished ? response.statusCode : 'gone'
        const milliseconds = Math.round(performance.now() - start)
        print(`${request.method} ${pathOf(request)} ${status} ${milliseconds} ms ${address}`.trimEnd())
      }
    },
    onRejected: createRejectionLog(({ code, connection = '' }, count) =>
      print(`Rejected by Node: ${count} ${code} ${connection}`.trimEnd()),
    ),
  }
}

/** The event of a request, once the service has reported it. */
interface Observed {
  event?: RequestEvent
}

function logEntries(answer: Answering['answer'], findAddress: FindAddress, write: WriteEntry): RequestLog {
  // The service reports a request in the async context of the request.
  const contexts = new AsyncLocalStorage<Observed>()
  const observed = new WeakMap<
    IncomingMessage,
    { readonly seen: Observed; readonly answered: Promise<void> }
  >()
  const logger: Logger = {
    info: (message, details) => write('info', message, details),
    warn: (message, details) => write('warn', message, details),
    error: (message, details) => write('error', message, details),
  }
  return {
    options: {
      logger,
      observe(event) {
        const seen = contexts.getStore()
        if (seen) seen.event = event
      },
    },
    answer(request, response) {
      const seen: Observed = {}
      const answered = contexts.run(seen, () => answer(request, response))
      observed.set(request, { seen, answered })
      return answered
    },
    onRequest(request, response) {
      const start = performance.now()
      const address = findAddress(request)
      return async () => {
        const milliseconds = performance.now() - start
        const { seen, answered } = observed.get(request) ?? {}
        // A client may disconnect while its request is still carried out. The service reports the request after that.
        await answered
        await setImmediate()
        if (isQuietProbe(request, response)) return
        const { requestId, code } = seen?.event ?? {}
        const isAborted = !response.writableFinished
        const status = seen?.event?.status ?? response.statusCode
        write(status >= 500 ? 'error' : 'info', 'request', {
          requestId,
          address,
          method: request.method,
          path: pathOf(request),
          status,
          code,
          milliseconds: Math.round(milliseconds * 1000) / 1000,
          ...(isAborted ? { aborted: true } : {}),
        })
      }
    },
    onRejected: createRejectionLog(({ code, connection }, count) =>
      write('info', 'rejected by Node', { code, connection, count }),
    ),
  }
}
