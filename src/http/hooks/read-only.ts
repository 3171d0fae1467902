import type { Routes } from '../routes/find-route.js'

const READS: readonly string[] = ['GET', 'HEAD']

/** The same routes, for GET and HEAD alone. */
export const readOnly = (routes: Routes): Routes => ({
  ...routes,
  find(path, options) {
    const found = routes.find(path, options)
    if (!found) return undefined
    const methods = new Map([...found.methods].filter(([name]) => READS.includes(name)))
    return { ...found, methods, allow: [...methods.keys(), 'OPTIONS'].join(', ') }
  },
})
