import { epoch, lost } from './session.js'

/**
 * The other tabs of the admin UI. They are notified that something has changed, without any data: each reloads with its
 * own session. So other scripts of this origin learn nothing here, and no tab uses the session of another.
 */
const others = new BroadcastChannel(`collection-service:${location.pathname.replace(/\/$/, '')}`)

others.onmessage = () => {
  // An expired session must sign in again first, with its input kept.
  if (!lost.peek()) epoch.value++
}

/** Notifies other tabs of a change. */
export const tellOthers = (): void => others.postMessage(null)
