/**
 * A process of its own that asks a service over the built package many things that all differ, and prints for each kind
 * of them by how many MiB its memory has grown in the second half. It needs `--expose-gc`.
 */
import { createCollectionService, createMemoryAdapter } from '../../../dist/index.js'
import { toNodeHandler } from '../../../dist/node.js'

const MIB = 1024 * 1024
const ROLES = Array.from({ length: 20 }, (_, i) => `role${i}`)
const FLAGS = ROLES.map((role) => `of_${role}`)
const flags = Object.fromEntries(FLAGS.map((flag) => [flag, { type: 'boolean' }]))

/** Those elements whose bits are set in a number. */
const pick = (elements, number) => elements.filter((_, i) => ((number >> i) & 1) === 1)

/** For each role a rule. */
const forRoles = (ruleOf) => Object.fromEntries(ROLES.map((role, i) => [role, { read: ruleOf(FLAGS[i]) }]))

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        role: { type: 'string' },
        teams: { type: 'array', items: { type: 'string' } },
      },
    },
    notes: {
      schema: { text: { type: 'string' }, n: { type: 'integer', index: true }, team: { type: 'string' } },
      permissions: {
        '*': { read: { omit: ['team'] } },
        owner: { read: true },
        user: { read: { where: { team: { $in: '$user.teams' } } } },
      },
    },
    flagged: {
      schema: { text: { type: 'string' }, ...flags },
      permissions: forRoles((flag) => ({ where: { [flag]: true }, pick: ['text', flag] })),
    },
    large: {
      schema: { text: { type: 'string' }, ...flags },
      permissions: forRoles((flag) => ({ pick: ['text', flag] })),
    },
  },
  auth: { roleField: 'role' },
}

const documents = {
  notes: Array.from({ length: 20 }, (_, n) => ({ text: `text ${n}`, n, team: `t${n}` })),
  flagged: Array.from({ length: 10_000 }, (_, i) =>
    Object.fromEntries(pick(FLAGS, i * 104).map((flag) => [flag, true])),
  ),
  large: Array.from({ length: 500 }, () => ({ text: 'x'.repeat(60_000) })),
}

const options = { logger: { info() {}, warn() {}, error() {} }, production: false }
const service = createCollectionService(config, createMemoryAdapter({ documents }), options)
await service.ready()

/** Without accounts, nobody has to be identified: nothing is waited for. */
const open = createCollectionService(
  {
    collections: {
      notes: { ...config.collections.notes, permissions: { '*': { read: { omit: ['team'] } } } },
    },
  },
  createMemoryAdapter({ documents: { notes: documents.notes } }),
  options,
)
await open.ready()

/** As much of Node's response as the mount needs. */
class Response {
  headersSent = false
  destroyed = false
  on() {
    return this
  }
  removeListener() {
    return this
  }
  getHeaderNames() {
    return []
  }
  writeHead(status) {
    this.status = status
  }
  write() {
    return true
  }
  end() {}
}

async function ask(handle, url, expected = 200, headers = {}) {
  const response = new Response()
  await handle({ method: 'GET', url, headers }, response)
  if (response.status !== expected) throw new Error(`${url} is answered with ${response.status}`)
}

const anonymous = toNodeHandler(open)
const signedIn = toNodeHandler(service.as({ id: 'a', teams: ['t1'] }))
const everyRole = toNodeHandler(service.as({ id: 'a', roles: ROLES }))
const withTokens = toNodeHandler(service)
const as = (caller) => toNodeHandler(service.as(caller))

const isLong = (process.env.LONG ?? '') !== ''

/** Many more queries than are kept; of callers, pages of 16 MiB are kept beside. */
const MANY = 20_000

/** How often something is asked, and what the `i`th time. */
const KINDS = {
  'queries of nobody': [MANY, (i) => ask(anonymous, `/notes?q[text]=${i}&limit=5`)],
  'queries of one caller': [10_000, (i) => ask(signedIn, `/notes/count?q[text]=${i}&q[n][$gt]=3`)],
  patterns: [6000, (i) => ask(anonymous, `/notes?q[text][$regex]=a${i}[b-z]&limit=1`)],
  callers: [
    isLong ? 100_000 : 40_000,
    (i) => ask(as({ id: `caller ${i}`, teams: [`t${i}`] }), '/notes?limit=5&sort[n]=-1'),
  ],
  'callers of many teams': [
    100,
    (i) => ask(as({ id: 'a', teams: Array.from({ length: 2000 }, (_, j) => `${i} ${j}`) }), '/notes?limit=5'),
  ],
  tokens: [
    4000,
    (i) => ask(withTokens, '/notes', 401, { authorization: `Bearer ${String(i).padStart(43, 'a')}` }),
  ],
  'sets of roles': [6000, (i) => ask(as({ id: 'a', roles: pick(ROLES, 1 + i * 97) }), '/large?limit=0')],
  'sets of rules': [500, (i) => ask(everyRole, `/flagged?limit=20&skip=${20 * i}`)],
  'views of large documents': [
    3000,
    (i) => ask(as({ id: 'a', roles: [ROLES[Math.floor(i / 500)]] }), `/large?limit=1&skip=${i % 500}`),
  ],
}

async function measure() {
  // What was dropped in one turn may be free only in the next.
  for (let turn = 0; turn < 2; turn++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MIB
}

const growth = {}
for (const [kind, [times, askAt]] of Object.entries(KINDS)) {
  let before = 0
  for (let i = 0; i < times; i++) {
    if (i === times / 2) before = await measure()
    await askAt(i)
  }
  growth[kind] = (await measure()) - before
}
console.log(JSON.stringify(growth))
