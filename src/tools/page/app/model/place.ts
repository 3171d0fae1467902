/** A view of the app. The fragment of the URL names it, so that it can be reloaded, linked and reached with Back. */
export type AppLocation =
  | { readonly view: 'collections' }
  | { readonly view: 'account' }
  | { readonly view: 'requests' }
  /** `query` is the query string for the API. */
  | { readonly view: 'list'; readonly collection: string; readonly query: string }
  | { readonly view: 'document'; readonly collection: string; readonly id: string }
  /** `query` contains initial values, by field. */
  | { readonly view: 'new'; readonly collection: string; readonly query: string }

/** Reads a fragment. One that names no view is read as the view of all collections. */
export function readPlace(fragment: string): AppLocation {
  const [path = '', ...rest] = fragment.replace(/^#?\/?/, '').split('?')
  const query = rest.join('?')
  const [view, name, id] = path.split('/').map(decode)
  if (view === 'account' || view === 'requests') return { view }
  if (name && view === 'list') return { view, collection: name, query }
  if (name && view === 'new') return { view, collection: name, query }
  if (name && id && view === 'document') return { view, collection: name, id }
  return { view: 'collections' }
}

/** Writes the fragment of a view. */
export function writePlace(place: AppLocation): string {
  switch (place.view) {
    case 'list':
    case 'new':
      return `#/${place.view}/${encodeURIComponent(place.collection)}${place.query ? `?${place.query}` : ''}`
    case 'document':
      return `#/document/${encodeURIComponent(place.collection)}/${encodeURIComponent(place.id)}`
    case 'collections':
      return '#/'
    default:
      return `#/${place.view}`
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
