import { readClock, StorageCalls } from '../../request/observe/storage-calls.js'
import type { RequestEvent } from '../../types/host.js'
import type { Identity } from '../identify.js'
import type { FoundRoute } from '../routes/find-route.js'
import { nameOperation } from './operation-name.js'

/** Collects the data of one request, which is reported to `options.observe` when the request is over. */
export class Observation {
  readonly requestId = crypto.randomUUID()
  readonly calls = new StorageCalls()
  readonly #method: string
  readonly #startedAt = readClock()
  #route: string | null = null
  #collection: string | null = null
  #operation: string | null = null
  #caller: RequestEvent['caller'] = 'anonymous'
  #code: string | undefined

  constructor(method: string) {
    this.#method = method
  }

  /** Records the route. */
  locate({ path, route, methods, place }: FoundRoute): void {
    const method = this.#method === 'HEAD' ? 'GET' : this.#method
    this.#route = route
    // Some paths have no collection, although the type says that it is always set.
    this.#collection = (place.collection as typeof place.collection | undefined)?.name ?? null
    this.#operation = methods.has(method) ? nameOperation(method, path) : null
  }

  identify({ caller, session }: Identity): void {
    this.#caller = caller === null ? 'anonymous' : session ? 'user' : 'host'
  }

  fail(code: string): void {
    this.#code = code
  }

  /** Returns the event that is reported when the request is over. */
  end(status: number, aborted: boolean): RequestEvent {
    return {
      operation: this.#operation,
      collection: this.#collection,
      method: this.#method,
      route: this.#route,
      status,
      ...(this.#code === undefined ? {} : { code: this.#code }),
      startedAt: this.#startedAt,
      milliseconds: readClock() - this.#startedAt,
      aborted,
      storage: this.calls.all,
      caller: this.#caller,
      requestId: this.requestId,
    }
  }
}
