/** A request that Node rejected before the service saw it. */
export interface Rejected {
  /** The code of Node for the reason, like `HPE_INVALID_METHOD`. */
  readonly code: string
  /** The address at the other end of the connection. */
  readonly connection: string | undefined
}

/**
 * The codes of Node for requests that it rejects. The errors of connections have other ones, but for a client that
 * disconnects within the headers, which Node calls an invalid end.
 */
const CODES = /^(?:HPE_(?!INVALID_EOF_STATE$)|ERR_HTTP_)/

/** Whether an error of a connection says that Node rejected a request. Node has answered it with 400, 408, 413 or 431. */
export const isRejection = ({ code = '' }: NodeJS.ErrnoException): boolean => CODES.test(code)

/** The minimum number of milliseconds between two reports. */
const PAUSE = 1000

/**
 * Returns a function that reports rejected requests at most once a second, so that they cannot fill the log: the last
 * one, and the number of requests since the report before.
 */
export function createRejectionLog(
  report: (last: Rejected, count: number) => void,
): (rejected: Rejected) => void {
  let waiting: Rejected | undefined
  let count = 0
  let isPausing = false
  const reportNext = (): void => {
    isPausing = waiting !== undefined
    if (!waiting) return
    report(waiting, count)
    waiting = undefined
    count = 0
    // The pause keeps the process alive, so that a stop loses no report.
    setTimeout(reportNext, PAUSE)
  }
  return (rejected) => {
    waiting = rejected
    count += 1
    if (!isPausing) reportNext()
  }
}
