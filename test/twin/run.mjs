/**
 * Compares the package with an earlier one: both answer the same random requests, with the same random numbers and the same clock.
 *
 * - `--rounds 6`, `--first 1`, `--seed 7`: the rounds that are played; round and seed determine all requests
 * - `--scenes streams,wrong`: only these scenes
 * - `--itself`: the package of today in both processes
 * - `--self-test`: proves that planted changes are found
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { createFolder, root } from '../support/packed.mjs'
import { bundleScenes } from './bundle.mjs'
import { cutToDifference, differencesOf } from './compare.mjs'
import { BEFORE, buildEarlier, NoHistory } from './earlier.mjs'
import { PLANTS } from './plants.mjs'

/** The most scenes of which a difference is printed; all differences are counted. */
const PRINTED = 5

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    scenes: { type: 'string' },
    itself: { type: 'boolean', default: false },
    'self-test': { type: 'boolean', default: false },
  },
})

// The self-test counts routes, which differ in number from seed to seed.
values.seed ??= values['self-test'] ? '1' : String(Date.now() % 1_000_000)

function readNumber(name) {
  const number = Number(values[name])
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} takes a whole number`)
  return number
}

/** The exchanges of a build, as they are told; the process has ended with the last one. */
async function* exchangesOf(folder, bundle, asked) {
  const file = join(import.meta.dirname, 'play.mjs')
  const child = spawn(process.execPath, [file, folder, bundle, JSON.stringify(asked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'test', LONG: undefined },
  })
  const closed = once(child, 'close')
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const exchange = JSON.parse(line)
      if (exchange.end) return
      yield exchange
    }
    const [code, signal] = await closed
    throw new Error(`the process of ${folder} ended early: ${signal ?? code}`)
  } finally {
    child.kill()
  }
}

/** Pairs of exchanges, scene by scene; where a build has more of them in a scene, the rest has no partner. */
async function* pairsOf(before, now) {
  const [olds, youngs] = [before, now]
  let [old, young] = (await Promise.all([olds.next(), youngs.next()])).map(({ value }) => value)
  let scene = old?.scene ?? young?.scene
  while (old || young) {
    const [isOld, isYoung] = [old?.scene === scene, young?.scene === scene]
    if (!isOld && !isYoung) {
      scene = old?.scene ?? young?.scene
      continue
    }
    yield [isOld ? old : undefined, isYoung ? young : undefined]
    const next = await Promise.all([
      isOld ? olds.next() : { value: old },
      isYoung ? youngs.next() : { value: young },
    ])
    ;[old, young] = next.map(({ value }) => value)
  }
}

/** The route of a request, with its method. */
function kindOf(request) {
  const [method, target = ''] = request.split('\n')[0].split(' ')
  if (method === 'NOTE') return request
  const path = target.split('?')[0].replace(/^\/api(?=\/|$)/, '') || '/'
  if (/^\/(?:$|auth\/|_)/.test(path)) return `${method} ${path.replace(/(?<=^\/auth\/sessions\/).+/, ':id')}`
  const [, , id, ...more] = path.replace(/\/$/, '').split('/')
  if (more.length > 0) return `${method} (other)`
  return `${method} /:collection${id === undefined ? '' : ['count', 'changes', 'bulk'].includes(id) ? `/${id}` : '/:id'}`
}

const count = (counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1)

/** Compares the answers of two builds to all requests; `report` is told of the first difference of each scene. */
async function compare([before, now], report = () => {}) {
  const seen = { compared: 0, different: 0, statuses: new Map(), kinds: new Map(), done: new Map() }
  const reported = new Set()
  const iterators = [before(), now()]
  try {
    for await (const [old, young] of pairsOf(...iterators)) {
      const one = old ?? young
      seen.compared += 1
      const kind = kindOf(one.request)
      count(seen.statuses, one.status)
      count(seen.kinds, kind)
      if (one.status >= 200 && one.status < 300) count(seen.done, kind)
      const differences =
        old && young ? differencesOf(old, young) : [{ name: 'request', ...absent(old, young) }]
      if (differences.length === 0) continue
      seen.different += 1
      if (!reported.has(one.scene)) report(one, differences)
      reported.add(one.scene)
    }
  } finally {
    await Promise.all(iterators.map((iterator) => iterator.return()))
  }
  return seen
}

const absent = (old, young) => ({ before: old?.request, now: young?.request })

function createReport(seed) {
  let printed = 0
  return ({ scene, index, request }, differences) => {
    if (printed++ >= PRINTED) return
    const round = /\d+/.exec(scene)?.[0]
    console.log(`✗ ${scene}, request ${index} (--seed ${seed} --first ${round} --rounds 1)\n  ${request}`)
    for (const { name, before, now } of differences) {
      const [old, young] = cutToDifference(before, now)
      console.log(`    ${name}\n      before  ${old}\n      now     ${young}`)
    }
  }
}

const list = (counts) =>
  [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, number]) => `${name}: ${number}`)
    .join(', ')

/** The routes that a self-test must see answered 2xx. */
const ROUTES = [
  ...['GET /', 'POST /_batch', 'GET /_openapi.json', 'GET /_page', 'GET /auth/me', 'GET /auth/sessions'],
  ...['register', 'login', 'change-secret', 'request-reset', 'reset', 'request-verification', 'verify'].map(
    (name) => `POST /auth/${name}`,
  ),
  ...['change-identifier', 'logout', 'logout-all'].map((name) => `POST /auth/${name}`),
  ...['DELETE /auth/sessions/:id', 'GET /:collection', 'POST /:collection', 'GET /:collection/count'],
  ...['GET /:collection/changes', 'POST /:collection/bulk', 'HEAD /:collection', 'OPTIONS /:collection'],
  ...['GET', 'HEAD', 'PATCH', 'PUT', 'DELETE'].map((method) => `${method} /:collection/:id`),
]

function print({ compared, statuses, kinds }) {
  console.log(`  statuses  ${list(statuses)}`)
  console.log(`  requests  ${list(kinds)}`)
  return compared
}

/** The scenes in which changes are planted: the quickest that have all kinds of answers. */
const PLANTED = ['streams', 'wrong']

/** The package against itself, and against itself with each planted change; whether all is as it must be. */
async function testItself(bundle, asked) {
  const failures = []
  const judge = (isRight, what) => {
    console.log(`${isRight ? '✓' : '✗'} ${what}`)
    if (!isRight) failures.push(what)
  }
  const told = []
  const record = async function* () {
    for await (const exchange of exchangesOf(root, bundle, asked)) {
      told.push(exchange)
      yield exchange
    }
  }
  const same = await compare([record, () => exchangesOf(root, bundle, asked)], createReport(asked.seed))
  print(same)
  judge(same.different === 0, `nothing differs from itself in ${same.compared} requests`)
  const good = [...same.statuses].reduce(
    (sum, [status, n]) => sum + (status >= 200 && status < 300 ? n : 0),
    0,
  )
  judge(3 * good >= same.compared, `${good} of them are answered 2xx`)
  const missing = ROUTES.filter((route) => !same.done.has(route))
  judge(missing.length === 0, `each route is answered 2xx at least once: ${missing.join(', ') || 'all'}`)
  for (const [plant, { isSeen }] of Object.entries(PLANTS)) {
    const kept = async function* () {
      yield* told.filter(({ scene }) => PLANTED.some((name) => scene.includes(name)))
    }
    const planted = () => exchangesOf(root, bundle, { ...asked, scenes: PLANTED, plant })
    let first = ''
    const report = ({ request }, [{ name }]) => {
      first ||= `${name} of ${request.split('\n')[0]}`
    }
    const { different } = await compare([kept, planted], report)
    judge(
      different > 0 === isSeen,
      `${plant}: ${different === 0 ? 'nothing differs' : `${different} differ, first ${first}`}`,
    )
  }
  return failures.length === 0
}

async function main() {
  const asked = { seed: readNumber('seed'), first: readNumber('first'), rounds: readNumber('rounds') }
  if (values.scenes !== undefined) asked.scenes = values.scenes.split(',')
  const folder = await createFolder('twin-scenes')
  try {
    const bundle = join(folder, 'scenes.mjs')
    await bundleScenes(bundle)
    if (values['self-test']) return await testItself(bundle, { ...asked, rounds: 1 })
    const [before, name] = values.itself ? [root, 'itself'] : [await buildEarlier(), BEFORE.slice(0, 12)]
    const builds = [before, root].map((build) => () => exchangesOf(build, bundle, asked))
    const seen = await compare(builds, createReport(asked.seed))
    print(seen)
    console.log(
      `compared ${seen.compared} requests with ${name}, --seed ${asked.seed}: ${seen.different} differ`,
    )
    return seen.different === 0 && seen.compared > 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

try {
  process.exitCode = (await main()) ? 0 : 1
} catch (error) {
  if (!(error instanceof NoHistory)) throw error
  console.error(error.message)
  process.exitCode = 1
}
