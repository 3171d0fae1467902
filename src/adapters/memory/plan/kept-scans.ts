import { CACHES } from '../../../core/kept/caches.js'
import type { Rows } from '../rows.js'

/** The maximum number of cached scans. */
const MAX_SCANS = 1000

/** Returns a function that wraps a plan, so that the plan's scan is cached until the next write to the collection. */
export function createKeptScans<Scan>({ byId }: Rows): (plan: () => Scan) => () => Scan {
  const scans = new Map<() => Scan, Scan>()
  let version = 0
  return (plan) => () => {
    if (!CACHES.scans.isOn) return plan()
    if (version !== byId.documents.version || scans.size === MAX_SCANS) scans.clear()
    version = byId.documents.version
    const scan = scans.get(plan) ?? plan()
    scans.set(plan, scan)
    return scan
  }
}
