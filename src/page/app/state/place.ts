import { signal } from '@preact/signals'
import { type AppLocation, readPlace, writePlace } from '../model/place.js'

/** Where the page is. */
export const place = signal<AppLocation>(readPlace(location.hash))

/** Whether the page went there by itself, after a change: what it reads there is not what a person did. */
let isLed = false

/** Why something is read where the page is. */
export const whyHere = (): { readonly note?: string } => (isLed ? { note: 'what came of it' } : {})

/** The address of a link on which the focus was when its place was left, by the fragment of that place. */
const left = new Map<string, string>()
let present = location.hash

/** The link to focus when the present place is shown: going back leads to where one came from. */
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
    // A tab begins with the session of the one that opens it; one that the browser opens by itself has none.
    else if (window.open(link.href)) event.preventDefault()
  }
  for (const type of ['click', 'auxclick'] as const) addEventListener(type, follow, { capture: true })
}

/** Goes to a place; with `replace`, in place of this one in the history. */
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
