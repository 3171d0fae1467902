import { signal } from '@preact/signals'
import { type AppLocation, readPlace, writePlace } from '../model/place.js'

/** The current view. */
export const place = signal<AppLocation>(readPlace(location.hash))

/** Whether the app navigated by itself, after a change: its requests are then background requests. */
let isLed = false

/** The reason of the requests of the current view. */
export const whyHere = (): { readonly note?: string } => (isLed ? { note: 'after a change' } : {})

/** The `href` of the focused link when a view was left, by the fragment of that view. */
const left = new Map<string, string>()
let present = location.hash

/** The link to focus in the current view: Back returns to the link that was followed. */
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
    // A new tab inherits the session of the tab that opens it, but not if the browser opens it by itself.
    else if (window.open(link.href)) event.preventDefault()
  }
  for (const type of ['click', 'auxclick'] as const) addEventListener(type, follow, { capture: true })
}

/** Navigates to a view; with `replace`, replaces the current one in the history. */
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
