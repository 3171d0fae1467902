import { read } from '../../http/routes/document.js'
import type { Routes } from '../../http/routes/find-route.js'
import type { Endpoint, NamedByPath } from '../../http/routes/route.js'
import { requireUnchanged } from '../require-unchanged.js'

const READS: readonly string[] = ['GET', 'HEAD']

type AnyEndpoint = Endpoint<keyof NamedByPath>

/** Returns the same routes with only the methods GET and HEAD, whose endpoints `adapt` may replace. */
export const readOnly = (
  routes: Routes,
  adapt: (endpoint: AnyEndpoint) => AnyEndpoint = (endpoint) => endpoint,
): Routes => ({
  ...routes,
  find(path, options) {
    const found = routes.find(path, options)
    if (!found) return undefined
    const isRead = (name: string): boolean => READS.includes(name)
    const reads = [...found.methods].filter(([name]) => isRead(name))
    const methods = new Map(reads.map(([name, endpoint]) => [name, adapt(endpoint)]))
    return { ...found, methods, allow: found.allow.split(', ').filter(isRead).join(', ') }
  },
})

/**
 * Replaces the endpoint of a document: what it shows, also that the document is absent, must still be so when the writes
 * of the request take effect.
 */
export const requireShown = (endpoint: AnyEndpoint): AnyEndpoint =>
  endpoint === (read as AnyEndpoint)
    ? {
        ...endpoint,
        async run(call, place, mount) {
          // Before the read: if the document changes between the two, the write fails and is evaluated again.
          await requireUnchanged(call, place.collection, place.id)
          return endpoint.run(call, place, mount)
        },
      }
    : endpoint
