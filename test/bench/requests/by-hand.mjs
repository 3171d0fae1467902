/**
 * What one would write by hand over node:http for these requests alone: a Map, sorted arrays, kept bytes; without accounts, rules
 * or any other query. And the floor below it: the same answers, made before.
 */
import { createServer } from 'node:http'

const JSON_TYPE = 'application/json'

function send(response, status, body) {
  response.writeHead(status, {
    'content-type': JSON_TYPE,
    'x-content-type-options': 'nosniff',
    vary: 'Authorization',
    'content-length': body.length,
  })
  response.end(body)
}

const bytesOf = (value) => Buffer.from(JSON.stringify(value))

/** Where a value belongs in a sorted array. */
function placeOf(array, value, read) {
  let low = 0
  let high = array.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (read(array[middle]) < value) low = middle + 1
    else high = middle
  }
  return low
}

function createStore(documents) {
  const texts = new WeakMap()
  const print = (document) => {
    const known = texts.get(document) ?? bytesOf(document)
    texts.set(document, known)
    return known
  }
  const byN = (document) => document.n
  const byTime = (document) => document.createdAt
  const sorted = (list, read) => [...list].sort((x, y) => (read(x) < read(y) ? -1 : 1))
  const store = {
    byId: new Map(documents.map((document) => [document._id, document])),
    emails: new Set(documents.map(({ email }) => email)),
    n: sorted(documents, byN),
    times: sorted(documents, byTime),
    groups: Array.from({ length: 100 }, (_, group) =>
      sorted(
        documents.filter((document) => document.group === group),
        byN,
      ),
    ),
    print,
    printAll(list) {
      const parts = list.flatMap((document, i) => [i === 0 ? OPEN : COMMA, print(document)])
      return parts.length === 0 ? EMPTY : Buffer.concat([...parts, CLOSE])
    },
    insert(document) {
      store.byId.set(document._id, document)
      store.emails.add(document.email)
      const group = store.groups[document.group]
      group.splice(placeOf(group, document.n, byN), 0, document)
      store.n.splice(placeOf(store.n, document.n, byN), 0, document)
      store.times.push(document)
    },
  }
  return store
}

const [OPEN, COMMA, CLOSE, EMPTY] = ['[', ',', ']', '[]'].map((text) => Buffer.from(text))

function last(list, count, accepts = () => true) {
  const found = []
  for (let i = list.length - 1; i >= 0 && found.length < count; i--) if (accepts(list[i])) found.push(list[i])
  return found
}

/** The handler by hand. */
export function createByHand(documents, few) {
  const docs = createStore(documents)
  const small = createStore(few)
  let created = 0
  const answer = (url) => {
    const [path, query = ''] = url.split('?')
    const parameters = new URLSearchParams(query)
    if (path === '/small') return [200, small.printAll([...small.byId.values()])]
    if (path === '/docs/count') {
      const [low, high] = [Number(parameters.get('q[n][$gte]')), Number(parameters.get('q[n][$lt]'))]
      const total = placeOf(docs.n, high, ({ n }) => n) - placeOf(docs.n, low, ({ n }) => n)
      return [200, bytesOf({ total })]
    }
    if (path !== '/docs') {
      const document = docs.byId.get(path.slice('/docs/'.length))
      return document ? [200, docs.print(document)] : [404, EMPTY]
    }
    const limit = Number(parameters.get('limit'))
    const group = parameters.get('q[group]')
    if (group === null) return [200, docs.printAll(last(docs.times, limit))]
    const word = parameters.get('q[title][$regex]')
    const accepts = word === null ? undefined : ({ title }) => title.includes(word)
    return [200, docs.printAll(last(docs.groups[Number(group)] ?? [], limit, accepts))]
  }
  const create = (text) => {
    const { title, n, group, email, body } = JSON.parse(text)
    const isValid = typeof title === 'string' && Number.isInteger(n) && group >= 0 && group < 100
    if (!isValid || !/^[^@\s]+@[^@\s]+$/.test(email)) return [400, EMPTY]
    if (docs.emails.has(email)) return [409, EMPTY]
    const now = new Date().toISOString()
    created += 1
    const document = {
      _id: `new-${created}`,
      title,
      n,
      group,
      email,
      body,
      createdAt: now,
      updatedAt: now,
      createdBy: null,
    }
    docs.insert(document)
    return [201, docs.print(document)]
  }
  return createServer((request, response) => {
    if (request.method !== 'POST') return send(response, ...answer(request.url))
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => send(response, ...create(Buffer.concat(chunks).toString())))
  })
}

/** The floor: what was answered before is answered again. */
export function createFloor(documents, few) {
  const made = createByHand(documents, few)
  const answers = new Map()
  return createServer((request, response) => {
    const known = answers.get(request.url)
    if (known && request.method === 'GET') return send(response, 200, known)
    const { end } = response
    response.end = (body) => {
      if (request.method === 'GET') answers.set(request.url, body)
      return end.call(response, body)
    }
    made.emit('request', request, response)
  })
}
