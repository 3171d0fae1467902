/** The documents and the requests of the benchmark, the same for every server. */

/** A repeatable source of numbers from 0 to 1. */
function createRandom(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

const WORDS = 'amber basin cedar delta ember fathom garnet harbor indigo juniper kestrel linden meadow'.split(
  ' ',
)
const MAX_N = 1_000_000
const HEX = 16

const idOf = (i) => `0190163d-8694-7000-8000-${i.toString(HEX).padStart(12, '0')}`

/** Documents of about 350 bytes; their times are in another order than their ids. */
export function createDocuments(count) {
  const random = createRandom(42)
  const word = () => WORDS[Math.floor(random() * WORDS.length)]
  return Array.from({ length: count }, (_, i) => {
    const time = new Date(Date.UTC(2020, 0, 1) + ((i * 7919) % count) * 1000).toISOString()
    const body = Array.from({ length: 32 }, word).join(' ').slice(0, 200)
    return {
      _id: idOf(i),
      title: `${word()} ${word()} ${word()} ${i}`,
      n: Math.floor(random() * MAX_N),
      group: Math.floor(random() * 100),
      email: `user${i}@example.com`,
      body,
      createdAt: time,
      updatedAt: time,
      createdBy: null,
    }
  })
}

const schema = {
  title: { type: 'string', required: true, maxLength: 200 },
  n: { type: 'integer', required: true, index: true },
  group: { type: 'integer', required: true, minimum: 0, maximum: 99, index: true },
  email: { type: 'string', format: 'email', required: true, unique: true },
  body: { type: 'string' },
}
const permissions = { '*': { read: true, create: true } }

export const config = {
  collections: {
    docs: { schema, permissions, indexes: [{ fields: ['group', 'n'] }] },
    small: { schema, permissions },
  },
}

let created = 0

/** The body of another document, which nobody has sent before. */
function createBody() {
  created += 1
  const n = created % MAX_N
  const email = `new${process.pid}x${created}@example.com`
  return { title: `new ${created}`, n, group: n % 100, email, body: 'x'.repeat(200) }
}

/** By name: what it is, and the requests, one after another. */
export const workloads = {
  a: {
    what: 'list: equal, sorted by another field, 20',
    ask: (i) => `/docs?q[group]=${i % 100}&sort[n]=-1&limit=20`,
  },
  b: {
    what: 'the same, and a text that contains a word',
    ask: (i) => `/docs?q[group]=${i % 100}&q[title][$regex]=${WORDS[i % WORDS.length]}&sort[n]=-1&limit=20`,
  },
  c: {
    what: 'count of a tenth, by a range',
    ask: (i) => {
      const low = (i * 7919) % (MAX_N * 0.9)
      return `/docs/count?q[n][$gte]=${low}&q[n][$lt]=${low + MAX_N / 10}`
    },
  },
  d: { what: 'create', ask: () => '/docs', body: createBody },
  e: { what: 'read one', ask: (i, size) => `/docs/${idOf((i * 7919) % size)}` },
  f: { what: 'list of 1,000', ask: () => '/small' },
  g: { what: 'the 20 newest', ask: () => '/docs?sort[createdAt]=-1&limit=20' },
}

/** Gives the requests of a workload by their number. */
export function createRequest(name, size) {
  const { ask, body } = workloads[name]
  return (number) => {
    const path = encodeURI(ask(number, size)).replaceAll('%25', '%')
    return body ? { method: 'POST', path, body: body() } : { method: 'GET', path }
  }
}
