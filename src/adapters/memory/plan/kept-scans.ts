import { CACHES } from '../../../kept/caches.js'
import type { Rows } from '../rows.js'

/** The most scans that are kept. */
const MAX_SCANS = 1000

/** Creates what keeps that which plans have found, until the next write, for those who ask again. */
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
