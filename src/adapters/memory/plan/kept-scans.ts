import { CACHES } from '../../../core/kept/caches.js'
import type { Rows } from '../rows.js'

/** The most cached scans. */
const MAX_SCANS = 1000

/** Creates a cache of scans, which lasts until the next write. */
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
