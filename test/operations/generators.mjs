import { once } from 'node:events'
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { createClient } from '../../dist/client.js'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { createFolder, installOnce, root, run } from '../support/packed.mjs'
import { sampleBodies } from './generators/samples.mjs'
import { readServices } from './generators/services.mjs'
import { TOOLS } from './generators/tools.mjs'

const here = fileURLToPath(new URL('generators/', import.meta.url))

/** Serves a configuration; with accounts, one is registered. */
async function serve(config) {
  const handler = createCollectionService(config, createMemoryAdapter(), {
    production: false,
    openapi: true,
    logger: { warn() {} },
  })
  const server = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  const client = createClient(origin)
  if (config.collections.users)
    await client.auth.register({ email: 'ann@example.com', password: 'correct horse' })
  const headers = client.token ? { authorization: `Bearer ${client.token}` } : {}
  const document = await (await fetch(`${origin}/_openapi.json`, { headers })).json()
  return {
    origin,
    client,
    headers,
    document,
    async stop() {
      server.closeAllConnections()
      server.close()
      await handler.close()
    },
  }
}

/** A team, a project and tasks, beside which generated clients create two more; the ids of all by collection. */
async function fill({ client }) {
  const { _id: users } = await client.auth.me()
  const teams = crypto.randomUUID()
  const [, { _id: memberships }] = await client.batch((b) => [
    b.teams.create({ name: 'Garden' }, { id: teams }),
    b.memberships.create({ user: users, team: teams, role: 'admin', name: 'Ann' }),
  ])
  const create = async (name, body) => (await client.collection(name).create({ team: teams, ...body }))._id
  const projects = await create('projects', { title: 'Spring' })
  const invitations = await create('invitations', { email: 'ben@example.com', role: 'admin' })
  const own = { project: projects, state: 'open' }
  const tasks = await create('tasks', { ...own, title: 'Mow', points: 3, state: 'done', dueAt: '2026-03-01' })
  await create('tasks', { ...own, title: 'Ask "why"', points: 5, dueAt: '2026-01-10T00:00:00Z' })
  await create('tasks', { ...own, title: 'Cut, & clean', points: 1 })
  const comments = await create('comments', { task: tasks, text: 'Already done' })
  return { users, teams, memberships, projects, invitations, tasks, comments }
}

/** What the filters of `use.ts` find, in the order of creation. */
const EXPECTED = {
  eq: ['Mow'],
  ne: ['Mow'],
  'gt of a time': ['Mow', 'Paint'],
  'in, several numbers': ['Mow', 'Paint'],
  'in, several texts': ['Mow', 'Paint'],
  'in, one text': ['Mow'],
  regex: ['Ask "why"', 'Cut, & clean', 'Bake'],
  exists: ['Cut, & clean', 'Bake'],
  null: ['Cut, & clean', 'Bake'],
  'sort, limit, project': ['Paint', 'Bake'],
}

/** Has a generated client do everything that `use.ts` does; what it did otherwise than expected. */
async function useClient(file, service, { teams: team, projects: project }, hasToQuery) {
  const { use } = await import(`${pathToFileURL(file)}?${hasToQuery}`)
  const { baked, updated, lists } = await use({
    origin: service.origin,
    token: service.client.token,
    hasToQuery,
    team,
    project,
  })
  for (const { _id } of [baked, updated]) await service.client.collection('tasks').delete(_id)
  const isWritten =
    baked.dueAt === undefined &&
    baked.points === 8 &&
    updated.dueAt === '2026-12-24T17:00:00.000Z' &&
    updated.remindAt === undefined
  const wrong = Object.entries(EXPECTED).filter(
    ([name, titles]) => JSON.stringify(lists[name]) !== JSON.stringify(titles),
  )
  return [...(isWritten ? [] : ['the writes']), ...wrong.map(([name]) => name)]
}

/** Makes a file of JavaScript of one of TypeScript. */
async function bundle(folder, file) {
  const outfile = join(folder, 'bundled.mjs')
  await build({
    entryPoints: [join(folder, file)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
    banner: { js: REQUIRE },
  })
  return outfile
}

const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** What the compiler of this repository finds in a file; empty for nothing. */
async function compile(folder, file) {
  const strict = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
  }
  const compilerOptions = { ...strict, module: 'esnext', moduleResolution: 'bundler', types: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', folder])
  return stdout.trim()
}

/** Links a package, so that a file of a folder can import it. */
async function link(folder, name, target) {
  const place = join(folder, 'node_modules', name)
  await mkdir(dirname(place), { recursive: true })
  await symlink(target, place, 'junction')
}

/** Has a tool generate from the document of a service; what is wrong with the result, or empty. */
async function generate(tool, installed, folder, document) {
  const input = join(folder, 'openapi.json')
  await mkdir(folder, { recursive: true })
  await writeFile(input, JSON.stringify(document))
  for (const name of tool.libraries ?? []) await link(folder, name, join(installed, 'node_modules', name))
  await link(folder, 'collection-service', root)
  const node = tool.node
    ? join(await installOnce(tool.node), 'node_modules', '.bin', 'node')
    : process.execPath
  const { bin } = JSON.parse(
    await readFile(join(installed, 'node_modules', nameOf(tool), 'package.json'), 'utf8'),
  )
  const program = join(
    installed,
    'node_modules',
    nameOf(tool),
    typeof bin === 'string' ? bin : bin[tool.command],
  )
  const { status, stderr } = await run(node, [program, ...tool.args(input, folder)], { cwd: folder })
  return status === 0 ? compile(folder, tool.file) : `it ended with ${status}: ${stderr}`
}

const nameOf = ({ packages: [spec] }) => spec.slice(0, spec.lastIndexOf('@'))

/** Whether the schemas of zod that were made of a document take what the service answers. */
async function judgeByZod(folder, { origin, headers, document }) {
  const { schemas } = await import(pathToFileURL(await bundle(folder, 'api.ts')))
  const lists = Object.keys(document.paths).filter(
    (path) => /^\/[\w-]+$/.test(path) && document.paths[path].get,
  )
  const faults = []
  let judged = 0
  for (const path of lists) {
    const name = path.slice(1).replaceAll('-', '_')
    const answer = await (await fetch(origin + path, { headers })).json()
    for (const one of Array.isArray(answer) ? answer : []) {
      judged++
      if (!schemas[name]?.safeParse(one).success) faults.push(path)
    }
  }
  return judged === 0 ? ['nothing was judged'] : faults
}

/** What a tool makes of each document, and what its client does. */
async function tryTool(tool, services, ids, folder) {
  const installed = await installOnce(...tool.packages)
  // hey-api looks for one from where it is upwards, and takes the first.
  await writeFile(join(installed, 'tsconfig.json'), '{}')
  const said = []
  const remarks = []
  let isRight = true
  for (const [name, service] of Object.entries(services)) {
    const place = join(folder, nameOf(tool).replaceAll('/', '+'), name)
    const fault = await generate(tool, installed, place, service.document)
    const known = tool.faults?.[name]
    if ((fault !== '') !== (known !== undefined)) {
      isRight = false
      said.push(`${name}: ${fault.split('\n')[0] || `no longer: ${known}`}`)
    } else if (known) remarks.push(`${name}: ${known}`)
    else said.push(name)
    if (fault !== '') continue
    if (tool.hasSchemas) {
      const refused = await judgeByZod(place, service)
      isRight &&= refused.length === 0
      remarks.push(
        `${name}: ${refused.length === 0 ? 'its schemas take the answers' : `refused: ${refused.join(', ')}`}`,
      )
    }
    if (tool.client && name === 'teams') {
      await cp(join(here, 'clients', tool.client), join(place, 'client.ts'))
      await cp(join(here, 'use.ts'), join(place, 'use.ts'))
      const untyped = await compile(place, 'use.ts')
      if (untyped !== '') {
        isRight = false
        remarks.push(`use.ts: ${untyped.split('\n')[0]}`)
      }
      const file = await bundle(place, 'use.ts')
      for (const [how, expected] of Object.entries(tool.wrong)) {
        const wrong = await useClient(file, service, ids, how.includes('toQuery'))
        isRight &&= wrong.join() === expected.join()
        remarks.push(`${how}: ${wrong.length === 0 ? 'all requests right' : `wrong: ${wrong.join(', ')}`}`)
      }
    }
  }
  const names = tool.packages
    .filter((spec) => !spec.startsWith('typescript'))
    .map((spec) => spec.replace(/@(?=[\d.]+$)/, ' '))
  return { isRight, cells: [names.join(', '), said.join(', '), remarks.join('; ')] }
}

/** Generates clients of three services by the usual generators, compiles them, and sends requests by some. */
export async function operate() {
  const folder = await createFolder('generators')
  const services = {}
  try {
    for (const [name, config] of Object.entries(await readServices())) services[name] = await serve(config)
    const ids = await fill(services.teams)
    await services.notes.client.collection('notes').create({ title: 'One' })
    const rows = []
    for (const tool of TOOLS) rows.push(await tryTool(tool, services, ids, folder))
    rows.push(await sampleBodies(services, ids))
    return {
      title: 'generators of clients and samples',
      about: 'Documents of three services, over HTTP; `tsc --strict` over what was generated of each',
      columns: ['generator', 'compiles', 'remarks'],
      rows,
    }
  } finally {
    for (const { stop } of Object.values(services)) await stop()
    if (!process.env.KEEP) await rm(folder, { recursive: true, force: true })
    else process.stderr.write(`${folder}\n`)
  }
}
