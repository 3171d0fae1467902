/**
 * Runs the examples for the storages of Cloudflare in workerd, as their settings of wrangler say: node workerd-examples.mjs
 * PROJECT MINIFLARE. Needs a node that miniflare takes. PROJECT has installed the package, MINIFLARE has installed miniflare.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCounts } from '../support/counts.mjs'
import { root } from '../support/packed.mjs'
import { bundleWorker, loadMiniflare } from '../support/workerd.mjs'

const [project, miniflare] = process.argv.slice(2)
const Miniflare = loadMiniflare(miniflare)
const { judge, end } = createCounts()
const examples = join(root, 'examples')
const readJson = async (name) => JSON.parse(await readFile(join(examples, name), 'utf8'))

const ACCOUNT = { email: 'ann@example.com', password: 'correct horse' }

/** Returns how miniflare starts what wrangler would start. `values`: see `bundleWorker`. */
async function readOptions(settings, values) {
  const { main, compatibility_date, compatibility_flags, ...more } = await readJson(settings)
  const { durable_objects, migrations = [], d1_databases = [], vars } = more
  const classes = migrations.flatMap(({ new_sqlite_classes }) => new_sqlite_classes)
  const objects = durable_objects?.bindings ?? []
  return {
    modules: true,
    script: await bundleWorker({
      project,
      entry: join(examples, main),
      values,
    }),
    compatibilityDate: compatibility_date,
    compatibilityFlags: compatibility_flags,
    bindings: vars,
    durableObjects: Object.fromEntries(
      objects.map(({ name, class_name }) => [
        name,
        { className: class_name, useSQLite: classes.includes(class_name) },
      ]),
    ),
    d1Databases: Object.fromEntries(d1_databases.map(({ binding, database_id }) => [binding, database_id])),
  }
}

/** Uses a worker, and ends it. `send` takes a line such as `GET acme.example.com/articles`. */
async function use(options, work) {
  const worker = new Miniflare(options)
  const send = async (line, { token, body } = {}) => {
    const [method, target] = line.split(' ')
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return worker.dispatchFetch(`http://${target}`, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    })
  }
  try {
    return await work(send)
  } finally {
    await worker.dispose()
  }
}

const statusOf = async (response) => {
  const { status, body } = await response
  await body?.cancel()
  return status
}

/** Creates an account and an article: the token, and the path of the article. */
async function createArticle(send, host, title) {
  const registered = await send(`POST ${host}/auth/register`, { body: ACCOUNT })
  const { token } = await registered.json()
  const created = await send(`POST ${host}/articles`, { token, body: { title } })
  const { _id } = await created.json()
  judge(
    `${host} › creates: ${registered.status} ${created.status}`,
    registered.status === 201 && created.status === 201,
  )
  return { token, path: `${host}/articles/${_id}` }
}

/** An article is there after a new start on the same storage, and so are the account and its session. */
async function judgeRestart(settings, hosts) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-workerd-'))
  const options = {
    ...(await readOptions(settings)),
    durableObjectsPersist: join(folder, 'objects'),
    d1Persist: join(folder, 'd1'),
  }
  try {
    const made = await use(options, async (send) => {
      const all = []
      for (const host of hosts) all.push(await createArticle(send, host, `of ${host}`))
      return all
    })
    await use(options, async (send) => {
      for (const [i, host] of hosts.entries()) {
        const { token, path } = made[i]
        const { title } = await (await send(`GET ${path}`, { token })).json()
        judge(`${host} › keeps its article: ${title}`, title === `of ${host}`)
        const login = await statusOf(send(`POST ${host}/auth/login`, { body: ACCOUNT }))
        judge(`${host} › keeps its account: ${login}`, login === 200)
        const list = await (await send(`GET ${host}/articles`, { token })).json()
        judge(`${host} › lists ${list.length} articles`, list.length === 1)
      }
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Tenants have accounts, sessions and articles of their own, also at the same time. */
async function judgeTenants(settings) {
  const [acme, globex] = ['acme.example.com', 'globex.example.com']
  await use(await readOptions(settings), async (send) => {
    const ours = await createArticle(send, acme, 'ours')
    const login = await statusOf(send(`POST ${globex}/auth/login`, { body: ACCOUNT }))
    judge(`an account of another tenant signs in: ${login}`, login === 401)
    const session = await statusOf(send(`GET ${globex}/articles`, { token: ours.token }))
    judge(`a session of another tenant holds: ${session}`, session === 401)
    const theirs = await createArticle(send, globex, 'theirs')
    const other = ours.path.replace(acme, globex)
    const read = await statusOf(send(`GET ${other}`, { token: theirs.token }))
    judge(`an article of another tenant is read: ${read}`, read === 404)
    const lists = [
      { host: acme, token: ours.token, title: 'ours' },
      { host: globex, token: theirs.token, title: 'theirs' },
    ]
    const asked = Array.from({ length: 20 }, (_, i) => lists[i % 2])
    const titles = await Promise.all(
      asked.map(async ({ host, token }) => {
        const list = await (await send(`GET ${host}/articles`, { token })).json()
        return list.map(({ title }) => title).join()
      }),
    )
    judge(
      `lists at the same time: ${titles}`,
      titles.every((found, i) => found === asked[i].title),
    )
    const stranger = await statusOf(send('GET initech.example.com/articles'))
    judge(`an unknown tenant: ${stranger}`, stranger === 404)
  })
}

/** Reads a stream of changes until it is left: the events that it has had. */
function listen({ body }) {
  const reader = body.getReader()
  const events = []
  const read = async () => {
    const decoder = new TextDecoder()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      for (const [, event] of decoder.decode(value).matchAll(/^event: (\w+)$/gm)) events.push(event)
    }
  }
  read().catch((error) => judge(`a stream ends: ${error.stack}`, false))
  return { events, leave: () => reader.cancel() }
}

async function waitFor(holds) {
  for (let tries = 0; tries < 200 && !holds(); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
  return holds()
}

/** Each listener gets the events, also after another has left; and one that has left takes no place. */
async function judgeStreams(settings, host) {
  const config = await readJson('config.json')
  const { articles } = config.collections
  const changed = {
    ...config,
    collections: { ...config.collections, articles: { ...articles, changes: true } },
    limits: { ...config.limits, subscribers: 20 },
  }
  const options = await readOptions(settings, { './config.json': changed })
  await use(options, async (send) => {
    const { token } = await createArticle(send, host, 'first')
    const open = async () => {
      const response = await send(`GET ${host}/articles/changes`, { token })
      judge(`${host} › a stream: ${response.status}`, response.status === 200)
      return listen(response)
    }
    const create = () => statusOf(send(`POST ${host}/articles`, { token, body: { title: 'another' } }))
    const [left, stayed] = [await open(), await open()]
    await create()
    for (const { events } of [left, stayed])
      judge(`${host} › events of a listener: ${events}`, await waitFor(() => events.includes('enter')))
    await left.leave()
    await create()
    const { events } = stayed
    const count = () => events.filter((event) => event === 'enter').length
    judge(`${host} › events after another has left: ${events}`, await waitFor(() => count() === 2))
    for (let times = 0; times < 5; times += 1) {
      const listener = await open()
      await waitFor(() => listener.events.includes('reset'))
      await listener.leave()
      await create()
    }
    await stayed.leave()
  })
}

try {
  await judgeRestart('wrangler.durable-object.json', ['acme.example.com', 'globex.example.com'])
  await judgeRestart('wrangler.d1.json', ['example.com'])
  await judgeTenants('wrangler.durable-object.json')
  await judgeStreams('wrangler.durable-object.json', 'acme.example.com')
  await judgeStreams('wrangler.d1.json', 'example.com')
} catch (error) {
  judge(error.stack, false)
}
end()
