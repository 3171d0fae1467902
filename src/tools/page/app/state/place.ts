import { signal } from '@preact/signals'
import { type AppLocation, readPlace, writePlace } from '../model/place.js'

/** The current view. */
export const place = signal<AppLocation>(readPlace(location.hash))

/**
 * Whether the app has opened the current view by itself, after a change. The requests of the view are then background
 * requests.
 */
let isLed = false

/** Returns the reason that the log shows for requests of the current view. */
export const whyHere = (): { readonly note?: string } => (isLed ? { note: 'after a change' } : {})

/** For each view that was left, by fragment: the `href` of the link that was followed there. */
const left = new Map<string, string>()
let present = location.hash

/**
 * The `href` of the link that gets the focus in the current view. After Back, it is the link that was followed there.
 */
export const returning = signal<string | undefined>(undefined)

export function followAddress(): void {
  addEventListener('hashchange', () => {
    returning.value = left.get(location.hash)
    left.delete(location.hash)
    present = location.hash
    isLed = false
    place.value = readPlace(location.hash)
  })
  const follow = (event: MouseEvent): void => {
    const link = (event.target as Element).closest?.<HTMLAnchorElement>('a[href^="#"]')
    if (!link || event.button === 2) return
    const { button, ctrlKey, metaKey, shiftKey } = event
    if (button === 0 && !ctrlKey && !metaKey && !shiftKey) left.set(present, link.getAttribute('href') ?? '')
    // A tab that a script opens inherits the session of this tab, but a tab that the browser opens by itself does not.
    else if (window.open(link.href)) event.preventDefault()
  }
  for (const type of ['click', 'auxclick'] as const) addEventListener(type, follow, { capture: true })
}

/** Navigates to a view. With `replace`, the new view replaces the current one in the history. */
export function go(to: AppLocation, replace = false): void {
  const address = writePlace(to)
  if (!replace) {
    location.hash = address
    return
  }
  history.replaceState(null, '', address)
  present = location.hash
  isLed = true
  place.value = to
}
