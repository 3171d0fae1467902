/** Planted changes, which the comparison must find or must ignore. They change answers, not the code of the package. */

const isJson = ({ headers }) => /json/.test(headers.get('content-type') ?? '')
const isProblem = ({ headers }) => headers.get('content-type') === 'application/problem+json'

/** A change of the text of JSON answers that a condition picks. */
const textOf = (picks, change) => (answer, request) =>
  picks(answer, request) ? { ...answer, text: change(answer.text) } : answer

const withHeader = (picks, change) => (answer, request) => {
  if (!picks(answer, request)) return answer
  const headers = new Headers(answer.headers)
  change(headers)
  return { ...answer, headers }
}

const isDescription = (_, { url }) => new URL(url).pathname.endsWith('/_openapi.json')
const isList = ({ text }) => /^\[\{.*\}\]$/.test(text)

/** By name: whether the comparison must find a difference, and what is changed of an answer to a request. */
export const PLANTS = {
  'another code of an error': {
    isSeen: true,
    change: textOf(isProblem, (text) => text.replace('"code":"not_found"', '"code":"missing"')),
  },
  'another code of a fault': {
    isSeen: true,
    change: textOf(isProblem, (text) => text.replace('"code":"wrong_type"', '"code":"type"')),
  },
  'another path of a fault': {
    isSeen: true,
    change: textOf(isProblem, (text) => text.replace('"path":"/', '"path":"')),
  },
  'another status': {
    isSeen: true,
    change: (answer, { method }) =>
      method === 'DELETE' && answer.status === 204 ? { ...answer, status: 205 } : answer,
  },
  'a header more': {
    isSeen: true,
    change: withHeader(
      ({ status }) => status === 201,
      (headers) => headers.set('x-more', '1'),
    ),
  },
  'a header less': {
    isSeen: true,
    change: withHeader(
      ({ headers }) => headers.has('next-cursor'),
      (headers) => headers.delete('next-cursor'),
    ),
  },
  'another value of a header': {
    isSeen: true,
    change: withHeader(
      ({ headers }) => headers.get('cache-control') === 'no-cache',
      (headers) => headers.set('cache-control', 'no-store'),
    ),
  },
  'another order of a list': {
    isSeen: true,
    change: textOf(isList, (text) => JSON.stringify(JSON.parse(text).reverse())),
  },
  'another order of properties': {
    isSeen: true,
    change: textOf(
      (answer) => isList(answer) && !isProblem(answer),
      (text) =>
        JSON.stringify(JSON.parse(text), (_, value) =>
          Array.isArray(value) || typeof value !== 'object' || value === null
            ? value
            : Object.fromEntries(Object.entries(value).reverse()),
        ),
    ),
  },
  'another ETag': {
    isSeen: true,
    change: withHeader(
      (answer, request) => answer.headers.has('etag') && !isDescription(answer, request),
      (headers) => headers.set('etag', headers.get('etag').replace('"', '"x')),
    ),
  },
  'a member more in descriptions': {
    isSeen: true,
    change: textOf(isDescription, (text) => text.replace('{"openapi"', '{"x-more":true,"openapi"')),
  },
  'another event': {
    isSeen: true,
    events: (text) => text.replace('event: leave', 'event: change'),
    change: (answer) => answer,
  },
  'another digit of an id': {
    isSeen: true,
    change: textOf(
      (answer, { method }) => method === 'POST' && answer.status === 201 && isJson(answer),
      (text) => text.replace(/("_id":"[^"]*)\w"/, '$1_"'),
    ),
  },
  'other words': {
    isSeen: false,
    change: (answer, request) => {
      if (!isProblem(answer) && !(isDescription(answer, request) && isJson(answer))) return answer
      const text = answer.text.replace(/"(title|detail|message|description)":"/g, '$&So. ')
      const headers = new Headers(answer.headers)
      if (isDescription(answer, request) && headers.has('etag')) headers.set('etag', '"other"')
      return { ...answer, text, headers }
    },
  },
}

/** The exports of a package, of which `createCollectionService` gives handlers whose answers are changed. */
export function plantIn(exports, { change, events }) {
  const plantedHandler = (inner) => {
    const handler = async (request) => {
      const response = await inner(request)
      if (response.headers.get('content-type') === 'text/event-stream')
        return events ? new Response(changeStream(response.body, events), response) : response
      const { status, headers } = response
      const text = await response.text()
      const changed = change({ status, headers, text }, request)
      const isEmpty = changed.text === '' || [204, 205, 304].includes(changed.status)
      return new Response(isEmpty ? null : changed.text, changed)
    }
    const { ready, close, basePath } = inner
    return Object.assign(handler, {
      ready,
      close,
      basePath,
      as: (caller) => plantedHandler(inner.as(caller)),
    })
  }
  const createCollectionService = (...given) => plantedHandler(exports.createCollectionService(...given))
  return { ...exports, createCollectionService }
}

function changeStream(body, change) {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  return body.pipeThrough(
    new TransformStream({
      transform: (bytes, controller) => controller.enqueue(encoder.encode(change(decoder.decode(bytes)))),
    }),
  )
}
