import { signal } from '@preact/signals'
import { type Place, readPlace, writePlace } from '../model/place.js'

/** Where the page is. */
export const place = signal<Place>(readPlace(location.hash))

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
    place.value = readPlace(location.hash)
  })
  addEventListener(
    'click',
    (event) => {
      const link = (event.target as Element).closest?.('a[href^="#"]')
      if (link) left.set(present, link.getAttribute('href') ?? '')
    },
    { capture: true },
  )
}

/** Goes to a place; with `replace`, in place of this one in the history. */
export function go(to: Place, replace = false): void {
  const address = writePlace(to)
  if (!replace) {
    location.hash = address
    return
  }
  history.replaceState(null, '', address)
  present = location.hash
  place.value = to
}
