/**
 * Does what a new user does: installs the packed package beside a framework, in a folder that knows nothing of this
 * repository, and runs the examples there. What is installed is pinned: another version is a change like any other.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  createFolder,
  createProject,
  environment,
  installOnce,
  pack,
  root,
  run,
  runSound,
} from '../support/packed.mjs'
import { startPostgres } from '../support/start-postgres.mjs'
import { bundleWorker } from '../support/workerd.mjs'
import { startProvider, useBetterAuth } from './better-auth.mjs'
import { startMailServer, useMail } from './deliver-mail.mjs'
import { expect } from './expect.mjs'

const TSX = 'tsx@4.23.15'
const EXPRESS_4 = ['express@4.21.2', TSX]
const EXPRESS_5 = ['express@5.3.0', 'express-session@1.19.0', 'cookie-session@2.1.1', TSX]
const HONO = ['hono@4.13.19', '@hono/node-server@2.1.8', TSX]
const MAIL = ['nodemailer@10.6.0', 'smtp-server@3.21.6']
const ADMIN = [
  ...['react-admin@5.15.4', '@refinedev/core@5.0.12', 'react@19.3.1', 'react-dom@19.3.1'],
  ...['@types/react@19.3.0'],
  TSX,
]
const OPENTELEMETRY = [
  ...['@opentelemetry/api@1.9.1', '@opentelemetry/sdk-trace-base@2.12.0'],
  ...['@opentelemetry/sdk-metrics@2.12.0', '@opentelemetry/context-async-hooks@2.12.0'],
]
const PROMETHEUS = ['prom-client@15.1.3']
const OPENAPI = ['openapi-typescript@7.13.0', 'swagger-typescript-api@13.13.0', 'typescript@5.9.3']
const NEXT = [
  ...['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1'],
  ...['typescript@5.9.3', '@types/node@20.19.43', '@types/react@19.3.0'],
]
const FASTIFY = ['fastify@5.12.8']
const KOA = ['koa@3.3.0', 'koa-bodyparser@4.4.1', '@types/koa@3.0.3', '@types/koa-bodyparser@4.3.13']
const NEST = [
  ...['@nestjs/common@12.5.1', '@nestjs/core@12.5.1', '@nestjs/platform-express@12.5.1'],
  ...['reflect-metadata@0.2.2', 'rxjs@7.8.2'],
]
const SVELTEKIT = [
  ...['@sveltejs/kit@3.2.0', '@sveltejs/adapter-node@6.0.1', '@sveltejs/vite-plugin-svelte@7.3.1'],
  ...['svelte@5.57.3', 'vite@8.3.8'],
]
const ASTRO = ['astro@7.3.5', '@astrojs/node@11.1.6']
const NUXT = ['nuxt@4.5.2', 'vue@3.5.45']
const TANSTACK_START = [
  ...['@tanstack/react-start@1.169.5', '@tanstack/react-router@1.170.46', 'react@19.3.1', 'react-dom@19.3.1'],
  ...['vite@8.3.8', '@vitejs/plugin-react@6.3.0', '@types/react@19.3.0'],
]
const LIVE_LISTS = [
  ...['@tanstack/db@0.15.2', 'react@19.3.1', 'react-dom@19.3.1', 'happy-dom@21.0.4', TSX],
  ...['typescript@5.9.3', '@types/react@19.3.0'],
]
const VITEST = ['vitest@4.1.5']
const JEST = ['jest@30.5.2']
const NODE_TYPES = '@types/node@20.19.43'
const TYPES = [
  'typescript@5.9.3',
  NODE_TYPES,
  '@types/express@5.0.6',
  '@types/express-session@1.19.0',
  '@types/pg@8.23.1',
  '@types/better-sqlite3@9.6.0',
]
const NODE_24 = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}@24.21.0`
const MINIFLARE = 'miniflare@4.20260730.0'
const LIBSQL = '@libsql/client@0.18.0'
const WASM = '@sqlite.org/sqlite-wasm@3.54.1-build1'

const only = process.argv[2]
const examples = join(root, 'examples')
let passed = 0
let failed = 0

/** One thing that must work; whatever it throws is said. */
async function check(title, work) {
  if (only !== undefined && !title.includes(only)) return
  const start = Date.now()
  try {
    await work()
    passed += 1
    console.log(`✓ ${title} (${((Date.now() - start) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failed += 1
    console.log(`✗ ${title}\n${String(error?.stack ?? error).replace(/^/gm, '    ')}`)
  }
}

async function findPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** Runs a server until `use` is over; it has 60 seconds to listen. `$PORT` in arguments stands for its port. */
async function serve(folder, args, use, { env = {}, node = process.execPath, port: given } = {}) {
  const port = given ?? (await findPort())
  const inPlace = args.map((arg) => arg.replace('$PORT', String(port)))
  const child = spawn(node, inPlace, {
    cwd: folder,
    env: { ...environment, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Some servers start others: all of them end together.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const origin = `http://127.0.0.1:${port}`
  const closed = once(child, 'close')
  try {
    for (let tries = 0; ; tries++) {
      if (await fetch(origin).catch(() => undefined)) break
      if (tries > 600 || child.exitCode !== null) throw new Error(`does not listen:\n${output}`)
      await wait(100)
    }
    await use(origin)
  } catch (error) {
    throw new Error(`${error.message}\n${output}`, { cause: error })
  } finally {
    if (child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await closed
  }
}

const json = (body, headers = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** Creates an article under a new account. */
async function createArticle(service, title) {
  const account = { email: `Ann.${Date.now()}@Example.com`, password: 'correct horse' }
  const registered = await fetch(`${service}/auth/register`, json(account))
  expect('registration', registered.status, 201)
  const { token } = await registered.json()
  const authorization = `Bearer ${token}`
  const created = await fetch(`${service}/articles`, json({ title }, { authorization }))
  return { created, article: await created.json(), authorization }
}

/** What the configuration of the examples promises, wherever it is served. */
async function useArticles(origin, base = '/api', headersOfDelete = {}) {
  const service = origin + base
  const refused = await fetch(`${service}/articles`, json({ title: 'Mine' }))
  expect('a stranger', [refused.status, (await refused.json()).code], [401, 'unauthenticated'])
  const { created, article, authorization } = await createArticle(service, 'Mine')
  const path = `${base}/articles/${article._id}`
  expect('what is created', [created.status, created.headers.get('location')], [201, path])
  const patch = { ...json({ title: 'Ours' }, { authorization }), method: 'PATCH' }
  const patched = await fetch(origin + path, patch)
  expect('what is changed', [patched.status, (await patched.json()).title], [200, 'Ours'])
  const found = await fetch(`${service}/articles?q[title]=Ours&q[_id]="${article._id}"&project=["title"]`, {
    headers: { authorization },
  })
  expect('what is found', await found.json(), [{ _id: article._id, title: 'Ours' }])
  const head = await fetch(origin + path, { method: 'HEAD', headers: { authorization } })
  expect('HEAD', [head.status, head.headers.get('etag')], [200, patched.headers.get('etag')])
  const options = await fetch(`${service}/articles`, { method: 'OPTIONS' })
  expect('OPTIONS', [options.status, options.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS'])
  const wrong = { ...json({}, { authorization }), body: '{ "title": ' }
  expect('a body that is not JSON', (await fetch(`${service}/articles`, wrong)).status, 400)
  const headers = { authorization, ...headersOfDelete }
  const gone = await fetch(origin + path, { method: 'DELETE', headers })
  expect('DELETE', gone.status, 204)
}

async function useHostRoutes(origin) {
  await useArticles(origin)
  expect('a route of the host', await (await fetch(`${origin}/health`)).json(), { healthy: true })
}

/** A service below two paths, one of which sees bodies that Express has parsed. */
const MOUNTS = `
import { readFileSync } from 'node:fs'
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import express from 'express'
const config = JSON.parse(readFileSync('config.json', 'utf8'))
const app = express()
app.use('/before', toNodeHandler(createCollectionService(config)))
app.use(express.json())
app.use('/after', toNodeHandler(createCollectionService(config)))
app.listen(process.env.PORT)
`

const COOKIES = `
import { createCollectionService } from 'collection-service'
import { nodeRequest, toNodeHandler } from 'collection-service/node'
import session from 'cookie-session'
import express from 'express'
const schema = { text: { type: 'string' } }
const permissions = { user: { create: true }, owner: { read: true } }
const app = express()
app.use(session({ secret: 'change me' }))
app.post('/login', express.json(), (request, response) => {
  request.session.id = request.body.name
  response.json({})
})
// Like passport: the session becomes a user.
app.use((request, _response, next) => {
  if (request.session.id) request.user = { id: request.session.id }
  next()
})
const authenticate = (request) => nodeRequest(request)?.user ?? null
const service = createCollectionService({ collections: { notes: { schema, permissions } } }, undefined, { authenticate })
app.use('/api', toNodeHandler(service))
app.listen(process.env.PORT)
`

async function useSession(origin) {
  expect('without a session', (await fetch(`${origin}/api/notes`)).status, 401)
  const login = async (name) => {
    const answer = await fetch(`${origin}/login`, json({ name }))
    return answer.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ')
  }
  const [ann, bob] = [await login('ann'), await login('bob')]
  const created = await fetch(`${origin}/api/notes`, json({ text: 'hers' }, { cookie: ann }))
  expect('with one', [created.status, (await created.json()).createdBy], [201, 'ann'])
  const list = async (cookie) =>
    (await (await fetch(`${origin}/api/notes`, { headers: { cookie } })).json()).length
  expect('everyone’s own', [await list(ann), await list(bob)], [1, 0])
}

const folder = await createFolder('examples')
const tarball = await pack(folder)
const copy = async (project, ...files) => {
  for (const file of files) await cp(join(examples, file), join(project, file))
}
const isWanted = (...titles) => only === undefined || titles.some((title) => title.includes(only))
const create = async (name, options) => {
  const project = join(folder, name)
  await createProject(project, { tarball, ...options })
  await copy(project, 'config.json', 'documents.json')
  return project
}
const tsx = join('node_modules', 'tsx', 'dist', 'cli.mjs')

/** A package with a native part, which takes minutes to build: the one of this repository. */
async function borrow(project, name) {
  const link = join(project, 'node_modules', name)
  await mkdir(dirname(link), { recursive: true })
  await symlink(join(root, 'node_modules', name), link)
}

async function useExpress4() {
  const project = await create('express-4', { packages: EXPRESS_4 })
  await copy(project, 'express.ts')
  await writeFile(join(project, 'mounts.mjs'), MOUNTS)
  await check('Express 4: express.ts', () => serve(project, [tsx, 'express.ts'], useHostRoutes))
  await check('Express 4: before and after express.json()', () =>
    serve(project, ['mounts.mjs'], async (origin) => {
      await useArticles(origin, '/before')
      await useArticles(origin, '/after')
    }),
  )
}

async function useExpress5() {
  const project = await create('express-5', { packages: EXPRESS_5 })
  await copy(project, 'express.ts', 'express-session.ts')
  await writeFile(join(project, 'mounts.mjs'), MOUNTS)
  await writeFile(join(project, 'cookies.mjs'), COOKIES)
  await check('Express 5: express.ts', () => serve(project, [tsx, 'express.ts'], useHostRoutes))
  await check('Express 5: before and after express.json()', () =>
    serve(project, ['mounts.mjs'], async (origin) => {
      await useArticles(origin, '/before')
      await useArticles(origin, '/after')
    }),
  )
  await check('Express 5: express-session.ts', () => serve(project, [tsx, 'express-session.ts'], useSession))
  await check('Express 5: request.user out of a cookie-session', () =>
    serve(project, ['cookies.mjs'], useSession),
  )
}

async function useHono() {
  const project = await create('hono', { packages: HONO })
  await copy(project, 'hono.ts', 'node.ts', 'sqlite.ts', 'postgres.ts')
  await check('Hono: hono.ts', () => serve(project, [tsx, 'hono.ts'], useHostRoutes))
  await check('node:http: node.ts', () =>
    serve(project, [tsx, 'node.ts'], (origin) => useArticles(origin, '')),
  )
  await borrow(project, 'better-sqlite3')
  await check('SQLite: sqlite.ts keeps its documents', async () => {
    const counts = []
    for (let start = 0; start < 2; start++) {
      await serve(project, [tsx, 'sqlite.ts'], async (origin) => {
        await useArticles(origin, '')
        const account = { email: 'kept@example.com', password: 'correct horse' }
        counts.push((await fetch(`${origin}/auth/register`, json(account))).status)
      })
    }
    expect('the second start', counts, [201, 409])
  })
  await borrow(project, 'pg')
  await check('PostgreSQL: postgres.ts', async () => {
    const postgres = await startPostgres()
    try {
      await serve(project, [tsx, 'postgres.ts'], (origin) => useArticles(origin, ''), {
        env: { DATABASE_URL: postgres.url },
      })
    } finally {
      await postgres.destroy()
    }
  })
}

/** Its variables, for each of the two servers that it may run in. */
const BETTER_AUTH_PORTS = { Express: 'PORT', Hono: 'HONO_PORT' }

async function useAccountsOfOthers() {
  // The line that the example names must work.
  const [, line] = /^\/\/ npm install (.+)$/m.exec(await readFile(join(examples, 'better-auth.ts'), 'utf8'))
  const packages = [...line.split(' '), 'express@5.3.0', '@types/express@5.0.6', ...HONO, NODE_TYPES]
  const project = await create('better-auth', { packages })
  await copy(project, 'better-auth.ts')
  await check('Better Auth: types of better-auth.ts', () =>
    checkTypes(project, ['better-auth.ts'], { types: ['node'] }),
  )
  const { issuer, stop } = await startProvider()
  for (const [server, variable] of Object.entries(BETTER_AUTH_PORTS)) {
    await check(`Better Auth: better-auth.ts in ${server}`, async () => {
      const port = String(await findPort())
      const origin = `http://localhost:${port}`
      const provider = { ISSUER: issuer, CLIENT_ID: 'projects', CLIENT_SECRET: 'a secret' }
      const env = { PORT: undefined, ORIGIN: origin, ...provider, [variable]: port }
      await serve(project, [tsx, 'better-auth.ts'], () => useBetterAuth(origin), { env, port })
    })
  }
  stop()
}

async function useDelivery() {
  const project = await create('mail', { packages: [...MAIL, TSX, NODE_TYPES] })
  await copy(project, 'deliver-mail.ts')
  await check('Mail: deliver-mail.ts', async () => {
    const mail = await startMailServer(project)
    try {
      const env = { SMTP_URL: mail.url }
      await serve(project, [tsx, 'deliver-mail.ts'], (origin) => useMail(origin, mail), { env })
    } finally {
      await mail.stop()
    }
    await checkTypes(project, ['deliver-mail.ts'], { types: ['node'] })
  })
}

/** Which spans the example makes of which requests. */
const SPANS = [
  {
    name: 'list articles',
    kind: 2,
    status: 0,
    parent: 'GET /articles',
    hasId: false,
    shown: { 'db.system.name': 'memory', 'db.operation.name': 'list', 'db.collection.name': 'articles' },
  },
  {
    name: 'GET /articles',
    kind: 1,
    status: 0,
    parent: 'proxy',
    hasId: true,
    shown: { 'http.request.method': 'GET', 'http.route': '/articles', 'http.response.status_code': 200 },
  },
  {
    name: 'POST /articles',
    kind: 1,
    status: 0,
    parent: 'proxy',
    hasId: true,
    shown: {
      'http.request.method': 'POST',
      'http.route': '/articles',
      'http.response.status_code': 401,
      'error.type': 'unauthenticated',
    },
  },
  {
    name: 'HTTP',
    kind: 1,
    status: 0,
    parent: 'proxy',
    hasId: true,
    shown: { 'http.request.method': '_OTHER', 'http.response.status_code': 404, 'error.type': 'not_found' },
  },
]

/** How often the example measures requests of which kind. */
const MEASURED = [
  ['http.server.request.duration', { ...requestOf('GET', 200), 'http.route': '/articles' }, 1],
  [
    'http.server.request.duration',
    { ...requestOf('POST', 401), 'http.route': '/articles', 'error.type': 'unauthenticated' },
    1,
  ],
  [
    'http.server.request.duration',
    { ...requestOf('GET', 404), 'http.route': '/articles/{id}', 'error.type': 'not_found' },
    1,
  ],
  ['http.server.request.duration', { ...requestOf('_OTHER', 404), 'error.type': 'not_found' }, 50],
  [
    'db.client.operation.duration',
    { 'db.system.name': 'memory', 'db.operation.name': 'list', 'db.collection.name': 'articles' },
    2,
  ],
  ...['service', 'storage', 'hashing'].map((check) => ['collection_service.check.ok', { check }, 1]),
]

function requestOf(method, status) {
  return { 'http.request.method': method, 'http.response.status_code': status }
}

async function useObservers() {
  const project = await create('opentelemetry', { packages: [...OPENTELEMETRY, TSX, NODE_TYPES] })
  for (const [name, what, expected] of [
    ['opentelemetry', 'the spans', SPANS],
    ['opentelemetry-metrics', 'the metrics', MEASURED],
  ])
    await check(`OpenTelemetry: ${name}.ts`, async () => {
      await copy(project, `${name}.ts`)
      await cp(join(project, `${name}.ts`), join(project, `${name}-example.ts`))
      await cp(join(root, 'test', 'examples', `${name}.mjs`), join(project, 'run.mjs'))
      const printed = await runSound(process.execPath, [tsx, 'run.mjs'], { cwd: project })
      expect(what, JSON.parse(printed), expected)
      await checkTypes(project, [`${name}.ts`], { types: ['node'] })
    })
}

/** The metrics of the example, without those of the process and of durations. */
const METRICS = [
  'collection_service_check_ok{check="hashing"} 1',
  'collection_service_check_ok{check="service"} 1',
  'collection_service_check_ok{check="storage"} 1',
  'collection_service_problems_total{code="method_not_allowed"} 1',
  'collection_service_problems_total{code="not_found"} 51',
  'collection_service_problems_total{code="unauthenticated"} 1',
  'collection_service_request_duration_seconds_count{collection="articles",status="200",operation="list"} 1',
  'collection_service_request_duration_seconds_count{collection="articles",status="401",operation="create"} 1',
  'collection_service_request_duration_seconds_count{collection="articles",status="404",operation="read"} 1',
  'collection_service_request_duration_seconds_count{collection="articles",status="405",operation="none"} 1',
  'collection_service_request_duration_seconds_count{collection="none",status="404",operation="none"} 50',
  'collection_service_storage_duration_seconds_count{operation="list",collection="articles",outcome="ok"} 2',
]

async function useMetrics() {
  const project = await create('prometheus', { packages: [...PROMETHEUS, TSX, NODE_TYPES] })
  await copy(project, 'prometheus.ts')
  await check('Prometheus: prometheus.ts', async () => {
    await cp(join(project, 'prometheus.ts'), join(project, 'prometheus-example.ts'))
    await cp(join(root, 'test', 'examples', 'prometheus.mjs'), join(project, 'run.mjs'))
    const printed = await runSound(process.execPath, [tsx, 'run.mjs'], { cwd: project })
    const isCounted = (line) => /^collection_service_\w+(?:_count|_ok|_total)[{ ]/.test(line)
    expect('the metrics', printed.split('\n').filter(isCounted).sort(), METRICS)
    await checkTypes(project, ['prometheus.ts'], { types: ['node'] })
  })
}

/** What is described in OpenAPI is understood by a printer of types, and by a generator of clients. */
async function useDescription() {
  const project = await create('openapi', { packages: OPENAPI })
  await cp(join(examples, 'teams'), join(project, 'teams'), { recursive: true })
  const tool = (name, ...args) =>
    runSound(join(project, 'node_modules', '.bin', name), args, { cwd: project })
  await check('OpenAPI: types by openapi-typescript, a client by swagger-typescript-api', async () => {
    const described = await tool('collection-service', 'openapi', 'teams/config.json')
    await writeFile(join(project, 'api.json'), described)
    await tool('openapi-typescript', 'api.json', '-o', 'types.ts')
    await tool('swagger-typescript-api', 'generate', '-p', 'api.json', '-o', '.', '-n', 'client.ts')
    await writeFile(
      join(project, 'use.ts'),
      [
        "import type { paths } from './types.ts'",
        "import { Api } from './client.ts'",
        "type Tasks = paths['/tasks']['get']['responses']['200']['content']['application/json']",
        'export const tasks: Tasks = []',
        'export const api = new Api()',
      ].join('\n'),
    )
    await checkTypes(project, ['use.ts'], { allowImportingTsExtensions: true })
  })
}

/** Compiles files of a project with the compiler of this repository. */
async function checkTypes(project, include, options = {}) {
  const strict = { strict: true, noEmit: true, skipLibCheck: true, target: 'es2022', lib: ['es2023', 'dom'] }
  const bundled = { module: 'esnext', moduleResolution: 'bundler', resolveJsonModule: true }
  const compilerOptions = { ...strict, ...bundled, types: [], ...options }
  await writeFile(join(project, 'tsconfig.check.json'), JSON.stringify({ compilerOptions, include }))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await runSound(process.execPath, [tsc, '-p', 'tsconfig.check.json'], { cwd: project })
}

/** Servers that read bodies before a handler sees them, or not. */
const SERVERS = {
  Fastify: { file: 'fastify.ts', packages: FASTIFY },
  Koa: {
    file: 'koa.ts',
    packages: KOA,
    other: ['without a parser', (text) => text.replace(/^app.use\(bodyParser.*$/m, '')],
  },
  NestJS: {
    file: 'nest.ts',
    packages: NEST,
    options: { experimentalDecorators: true },
    other: ['behind a parser', (text) => text.replace(/^app.use/m, "app.useBodyParser('json')\n$&")],
  },
}

async function useServers() {
  for (const [name, { file, packages, options = {}, other }] of Object.entries(SERVERS)) {
    if (!isWanted(`${name}: ${file}`)) continue
    const project = await create(name, { packages: [...packages, TSX, NODE_TYPES] })
    await copy(project, file)
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }))
    await check(`${name}: ${file}`, async () => {
      await serve(project, [tsx, file], useHostRoutes)
      await checkTypes(project, [file], { ...options, types: ['node'] })
    })
    if (!other) continue
    const [how, change] = other
    const text = await readFile(join(examples, file), 'utf8')
    if (change(text) === text) throw new Error(`${file} has changed`)
    await writeFile(join(project, 'other.ts'), change(text))
    await check(`${name}: ${file} ${how}`, () => serve(project, [tsx, 'other.ts'], useHostRoutes))
  }
}

/** What is written into a project of a framework that bundles, and how it is built and started. */
const BUNDLERS = {
  SvelteKit: {
    packages: SVELTEKIT,
    example: ['sveltekit/+server.ts', 'src/routes/api/[...path]/+server.ts'],
    config: 'src/routes/api/config.json',
    files: {
      'vite.config.js': `
        import adapter from '@sveltejs/adapter-node'
        import { sveltekit } from '@sveltejs/kit/vite'
        export default { plugins: [sveltekit({ adapter: adapter() })] }`,
      'src/app.html':
        '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'src/routes/+page.svelte': '<p>Articles</p>',
    },
    build: ['node_modules/vite/bin/vite.js', 'build'],
    start: ['build/index.js'],
  },
  Astro: {
    packages: ASTRO,
    example: ['astro/api/[...path].ts', 'src/pages/api/[...path].ts'],
    config: 'src/config.json',
    files: {
      'astro.config.mjs': `
        import node from '@astrojs/node'
        export default { adapter: node({ mode: 'standalone' }) }`,
      'src/pages/index.astro': '<p>Articles</p>',
    },
    build: ['node_modules/astro/bin/astro.mjs', 'build'],
    start: ['dist/server/entry.mjs'],
  },
  Nuxt: {
    packages: NUXT,
    example: ['nuxt/[...path].ts', 'server/api/[...path].ts'],
    config: 'server/config.json',
    files: {
      'nuxt.config.ts': `export default { telemetry: false, compatibilityDate: '2026-11-01' }`,
      'app/app.vue': '<template><p>Articles</p></template>',
      // Bodies are read before the service sees them.
      'server/middleware/parse.ts': `
        export default defineEventHandler(async (event) => {
          if (event.method === 'POST') await readRawBody(event)
        })`,
    },
    build: ['node_modules/nuxt/bin/nuxt.mjs', 'build'],
    start: ['.output/server/index.mjs'],
  },
  'TanStack Start': {
    packages: TANSTACK_START,
    example: ['tanstack-start/api/$.ts', 'src/routes/api/$.ts'],
    config: 'src/config.json',
    files: {
      // Without its own answers to OPTIONS.
      'vite.config.ts': `
        import { tanstackStart } from '@tanstack/react-start/plugin/vite'
        import react from '@vitejs/plugin-react'
        export default { plugins: [tanstackStart(), react()], preview: { cors: false } }`,
      'src/router.tsx': `
        import { createRouter } from '@tanstack/react-router'
        import { routeTree } from './routeTree.gen'
        export const getRouter = () => createRouter({ routeTree })`,
      'src/routes/__root.tsx': `
        import { createRootRoute, Outlet } from '@tanstack/react-router'
        export const Route = createRootRoute({ component: () => <html><body><Outlet /></body></html> })`,
      'src/routes/index.tsx': `
        import { createFileRoute } from '@tanstack/react-router'
        export const Route = createFileRoute('/')({ component: () => <p>Articles</p> })`,
    },
    build: ['node_modules/vite/bin/vite.js', 'build'],
    start: ['node_modules/vite/bin/vite.js', 'preview', '--host', '127.0.0.1', '--port', '$PORT'],
    compiled: ['src/**/*'],
  },
}

/** These need a newer node than the package does. */
async function useBundlers() {
  for (const [name, { packages, example, config, files, build, start, compiled }] of Object.entries(
    BUNDLERS,
  )) {
    const [from, to] = example
    if (!isWanted(`${name}: ${from}`)) continue
    await check(`${name}: ${from}`, async () => {
      const node = join(await installOnce(NODE_24), 'node_modules', '.bin', 'node')
      const project = await create(name.replace(' ', '-'), { packages })
      for (const [file, text] of Object.entries(files)) {
        await mkdir(dirname(join(project, file)), { recursive: true })
        await writeFile(join(project, file), text)
      }
      await cp(join(examples, from), join(project, to))
      await cp(join(examples, 'config.json'), join(project, config))
      const env = { ASTRO_TELEMETRY_DISABLED: '1', HOST: '127.0.0.1' }
      await runSound(node, build, { cwd: project, env })
      await serve(
        project,
        start,
        async (origin) => {
          await useArticles(origin, '/api', { 'content-type': 'application/json' })
          expect('a page of the host', (await (await fetch(origin)).text()).includes('Articles'), true)
        },
        { env, node },
      )
      await checkTypes(project, compiled ?? [to], { jsx: 'react-jsx' })
    })
  }
}

/** A page that asks the service which the routes have. */
const NEXT_PAGE = `
import { service } from './api/[[...path]]/service'
export const dynamic = 'force-dynamic'
export default async function Page() {
  const asAdmin = service.as({ id: 'page', roles: ['admin'] })
  const answer = await asAdmin(new Request('http://localhost/api/articles'))
  return <p>{(await answer.json()).map(({ title }) => title).join()}</p>
}
`

async function useNext() {
  const project = await create('next', { packages: NEXT })
  const api = join(project, 'app', 'api')
  await mkdir(join(api, '[[...path]]'), { recursive: true })
  for (const file of ['route.ts', 'service.ts'])
    await cp(join(examples, 'next', file), join(api, '[[...path]]', file))
  await cp(join(examples, 'config.json'), join(api, 'config.json'))
  const layout =
    'export default function Layout({ children }) { return <html><body>{children}</body></html> }\n'
  await writeFile(join(project, 'app', 'layout.jsx'), layout)
  await writeFile(join(project, 'app', 'page.jsx'), NEXT_PAGE)
  // `next build` checks the types of the route too.
  await writeFile(
    join(project, 'next.config.mjs'),
    'export default { turbopack: { root: import.meta.dirname } }\n',
  )
  const env = { NEXT_TELEMETRY_DISABLED: '1' }
  const next = join('node_modules', 'next', 'dist', 'bin', 'next')
  await check('Next: next build and next start with next/route.ts', async () => {
    await runSound(process.execPath, [next, 'build'], { cwd: project, env })
    await serve(
      project,
      [next, 'start'],
      async (origin) => {
        await useArticles(origin)
        await createArticle(`${origin}/api`, 'Seen by a page')
        const page = await (await fetch(origin)).text()
        expect('a page sees what a route has stored', page.includes('Seen by a page'), true)
      },
      { env },
    )
  })
}

/** Lists that stay live, in React and in TanStack DB. */
async function useLiveLists() {
  let project
  const begin = async () => {
    project ??= await create('live-lists', { packages: LIVE_LISTS })
    await copy(project, 'react.tsx', 'tanstack-db.ts')
    await cp(join(root, 'test', 'examples', 'live-lists.mjs'), join(project, 'live-lists.mjs'))
  }
  for (const [title, name] of [
    ['React: react.tsx', 'react'],
    ['TanStack DB: tanstack-db.ts', 'tanstack-db'],
  ]) {
    await check(title, async () => {
      await begin()
      const tsx = join('node_modules', 'tsx', 'dist', 'cli.mjs')
      const compilerOptions = { jsx: 'react-jsx' }
      await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
      await runSound(process.execPath, [tsx, 'live-lists.mjs', name], { cwd: project, seconds: 60 })
    })
  }
  await check('live lists: the compiler understands them', async () => {
    await begin()
    const compilerOptions = {
      jsx: 'react-jsx',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      target: 'ES2022',
      module: 'NodeNext',
      lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    }
    const include = ['react.tsx', 'tanstack-db.ts']
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
    const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
    await runSound(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: project })
  })
}

/** Data providers of admin frameworks, over a service in one process with them. */
async function useAdmins() {
  const titles = { 'react-admin': 'react-admin: react-admin.ts', refine: 'refine: refine.ts' }
  if (!isWanted(...Object.values(titles))) return
  const project = await create('admins', { packages: ADMIN })
  await copy(project, 'react-admin.ts', 'refine.ts')
  for (const file of ['admins.mjs', 'expect.mjs'])
    await cp(join(root, 'test', 'examples', file), join(project, file))
  for (const [name, title] of Object.entries(titles)) {
    await check(title, async () => {
      await checkTypes(project, [`${name}.ts`])
      await runSound(process.execPath, [tsx, 'admins.mjs', name], { cwd: project, seconds: 60 })
    })
  }
}

async function useRunners() {
  await check('vitest: unit-test.test.ts and custom-adapter.ts with the kit', async () => {
    const project = await create('vitest', { packages: VITEST })
    await copy(project, 'unit-test.test.ts', 'custom-adapter.ts')
    const kit = await readFile(join(root, 'test', 'examples', 'custom-adapter.test.ts'), 'utf8')
    await writeFile(join(project, 'custom-adapter.test.ts'), kit.replace('../../examples/', './'))
    const vitest = join('node_modules', 'vitest', 'vitest.mjs')
    const output = await runSound(process.execPath, [vitest, 'run', '--reporter=json'], { cwd: project })
    const { success, numPassedTests, numTotalTestSuites } = JSON.parse(output)
    if (!success || numPassedTests < 20 || numTotalTestSuites < 2) throw new Error(output)
  })
  const jest = join('node_modules', 'jest', 'bin', 'jest.js')
  let project
  const runJest = async (file, text, env) => {
    project ??= await create('jest', { packages: JEST, type: 'commonjs' })
    await writeFile(join(project, file), text)
    const { status, stderr } = await run(process.execPath, [jest, file], { cwd: project, env })
    if (status !== 0 || !/Tests: +2 passed, 2 total/.test(stderr)) throw new Error(stderr)
  }
  const text = await readFile(join(examples, 'jest.cjs'), 'utf8')
  await check('Jest: jest.cjs', () => runJest('articles.test.cjs', text))
  await check('Jest: the same as ECMAScript modules', () => {
    const imports = text
      .replace("require('./config.json')", "JSON.parse(readFileSync('config.json', 'utf8'))")
      .replaceAll(/^const (\{.*\}) = require\((.*)\)$/gm, 'import $1 from $2')
    const module = `import { readFileSync } from 'node:fs'\n${imports}`
    return runJest('modules.test.mjs', module, { NODE_OPTIONS: '--experimental-vm-modules' })
  })
}

/** The worker in workerd, bundled as wrangler does it. */
const WORKER = `
import { createRequire } from 'node:module'
const [miniflare, script] = process.argv.slice(2)
const { Miniflare } = createRequire(miniflare)('miniflare')
const worker = new Miniflare({
  modules: true,
  scriptPath: script,
  modulesRoot: '.',
  compatibilityDate: '2025-06-01',
  port: Number(process.env.PORT),
})
await worker.ready
`

async function useWorker() {
  await check('Cloudflare: worker.ts in workerd', async () => {
    const project = await create('worker', {})
    await copy(project, 'worker.ts')
    await writeFile(
      join(project, 'worker.js'),
      await bundleWorker({ project, entry: join(project, 'worker.ts') }),
    )
    await writeFile(join(project, 'serve.mjs'), WORKER)
    const node = join(await installOnce(NODE_24), 'node_modules', '.bin', 'node')
    const miniflare = join(await installOnce(MINIFLARE), 'package.json')
    const start = `require('node:child_process').spawn(${JSON.stringify(node)}, ['serve.mjs', ${JSON.stringify(miniflare)}, 'worker.js'], { stdio: 'inherit' })`
    await serve(project, ['--input-type=commonjs', '--eval', start], (origin) => useArticles(origin, ''))
  })
}

async function useLibsql() {
  const title = 'libSQL: libsql.ts with a file'
  if (!isWanted(title)) return
  const project = await create('libsql', { packages: [LIBSQL, TSX, NODE_TYPES] })
  await copy(project, 'libsql.ts')
  await check(title, async () => {
    await serve(project, [tsx, 'libsql.ts'], (origin) => useArticles(origin, ''))
    await checkTypes(project, ['libsql.ts'], { types: ['node'] })
  })
}

/** A browser runs it in test/runtimes. */
async function useWebAssembly() {
  const title = 'WebAssembly: opfs.ts and its page are well typed'
  if (!isWanted(title)) return
  const project = await create('opfs', { packages: [WASM] })
  await copy(project, 'opfs.ts', 'opfs-page.ts')
  await check(title, () =>
    checkTypes(project, ['opfs.ts', 'opfs-page.ts'], { lib: ['es2023', 'dom', 'dom.iterable'] }),
  )
}

/** Compilers of the two kinds that read the types in different ways. `module` follows from it. */
const RESOLUTIONS = { node16: 'node18', bundler: 'esnext' }

async function useCompiler() {
  const titles = Object.keys(RESOLUTIONS).map((name) => `TypeScript: moduleResolution ${name}`)
  if (!isWanted(...titles)) return
  const packages = [...TYPES, ...EXPRESS_5, ...HONO, ...VITEST, 'pg@8.23.1']
  const project = await create('types', { packages })
  // The other frameworks bring compilers of their own, above.
  const others = [
    'better-auth.ts',
    'deliver-mail.ts',
    'libsql.ts',
    'opfs.ts',
    'opfs-page.ts',
    'opentelemetry.ts',
    'opentelemetry-metrics.ts',
    'prometheus.ts',
    'react-admin.ts',
    'refine.ts',
    'tanstack-db.ts',
    ...Object.values(SERVERS).map(({ file }) => file),
  ]
  const files = (await readdir(examples)).filter((file) => file.endsWith('.ts') && !others.includes(file))
  await mkdir(join(project, 'next'), { recursive: true })
  await copy(project, ...files, 'next/route.ts', 'next/service.ts')
  // Without other packages’ types: ours must hold by themselves.
  const names = Object.keys(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).exports)
  const entries = names
    .filter((name) => !name.endsWith('.json'))
    .map((name) => `collection-service${name.slice(1)}`)
  const imports = entries.map(
    (name, i) => `import * as entry${i} from '${name}'\nexport const own${i} = entry${i}\n`,
  )
  await mkdir(join(project, 'alone'), { recursive: true })
  await writeFile(join(project, 'alone', 'entries.ts'), imports.join(''))
  await writeFile(join(project, 'alone', 'entries.cts'), imports.join(''))
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
  const compile = async (name, options, include) => {
    const strict = { strict: true, noEmit: true, target: 'es2022', lib: ['es2023', 'dom', 'dom.iterable'] }
    const compilerOptions = { ...strict, types: ['node'], resolveJsonModule: true, ...options }
    await writeFile(join(project, name), JSON.stringify({ compilerOptions, include }))
    await runSound(process.execPath, [tsc, '-p', name], { cwd: project })
  }
  for (const [moduleResolution, module] of Object.entries(RESOLUTIONS)) {
    // The example for Next names its neighbour as bundlers do.
    const examplesOf = moduleResolution === 'bundler' ? ['*.ts', 'next/*.ts'] : ['*.ts']
    await check(`TypeScript: moduleResolution ${moduleResolution}, examples`, () =>
      compile('tsconfig.json', { module, moduleResolution, skipLibCheck: true }, examplesOf),
    )
    // What an emitting compiler would say of a file of CommonJS is no matter of a bundler.
    const include = moduleResolution === 'bundler' ? ['alone/*.ts'] : ['alone/*.ts', 'alone/*.cts']
    await check(`TypeScript: moduleResolution ${moduleResolution}, the package’s own types`, () =>
      compile('tsconfig.alone.json', { module, moduleResolution, skipLibCheck: false }, include),
    )
  }
}

try {
  if (isWanted('Express 4')) await useExpress4()
  if (isWanted('Express 5')) await useExpress5()
  if (isWanted('Hono', 'node:http', 'SQLite', 'PostgreSQL')) await useHono()
  if (isWanted('Better Auth')) await useAccountsOfOthers()
  if (isWanted('Mail')) await useDelivery()
  if (isWanted('OpenTelemetry')) await useObservers()
  if (isWanted('Prometheus')) await useMetrics()
  if (isWanted('OpenAPI')) await useDescription()
  if (isWanted('Next')) await useNext()
  await useServers()
  await useBundlers()
  await useLiveLists()
  await useAdmins()
  await useRunners()
  await useWorker()
  await useLibsql()
  await useWebAssembly()
  await useCompiler()
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)
