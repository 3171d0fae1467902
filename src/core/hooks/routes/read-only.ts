import type { Routes } from '../../http/routes/find-route.js'

const READS: readonly string[] = ['GET', 'HEAD']

/** Returns the same routes with only the methods GET and HEAD. */
export const readOnly = (routes: Routes): Routes => ({
  ...routes,
  find(path, options) {
    const found = routes.find(path, options)
    if (!found) return undefined
    const isRead = (name: string): boolean => READS.includes(name)
    const methods = new Map([...found.methods].filter(([name]) => isRead(name)))
    return { ...found, methods, allow: found.allow.split(', ').filter(isRead).join(', ') }
  },
})
