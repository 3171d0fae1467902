import { epoch, lost } from './session.js'

/**
 * The other tabs of this page. They hear that something was done, and nothing of what: each asks for itself, as who it
 * is. So no other script of this origin learns anything here, and no tab takes over the caller of another.
 */
const others = new BroadcastChannel(`collection-service:${location.pathname.replace(/\/$/, '')}`)

others.onmessage = () => {
  // A session that was lost is waited for, with what was written.
  if (!lost.peek()) epoch.value++
}

/** Says that something was done, which other tabs may show. */
export const tellOthers = (): void => others.postMessage(null)
