import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../src/core/config/compile-config.js'
import { fromHost, type KnownCaller } from '../../src/core/permissions/caller.js'
import {
  createCollectionService,
  createMemoryAdapter,
  type Handler,
  type ServiceOptions,
} from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { describeService } from '../../src/tools/openapi/describe-service.js'
import type { DescribedService } from '../../src/tools/openapi/scope.js'
import { createDescription } from '../support/described.js'
import { findIn } from '../support/json-schema.js'
import { holdOthers, judged, takeFaults } from '../support/judged.js'
import { judgedFetch } from '../support/judged-fetch.js'
import { findUnknownName } from '../support/named-faults.js'

/** Each answer of a test to a described request is held against the description (CONTRACT.md §8, "OpenAPI"). */

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['editor'] },
      },
      permissions: { '*': { create: true }, owner: { read: true }, editor: { read: true } },
    },
    notes: {
      schema: { text: { type: 'string' }, author: { type: 'reference', collection: 'users' } },
      permissions: { '*': { read: true, create: true }, editor: true },
      changes: true,
    },
  },
  auth: { roleField: 'role' },
} as const

const ID = '0190163d-8694-7000-8000-000000000001'

/** A service whose storage holds what the configuration does not allow. */
async function createWrong(options: ServiceOptions = {}): Promise<Handler> {
  const adapter = createMemoryAdapter()
  const always = { authenticate: () => null, production: false, logger: { warn() {} } }
  const handler = createCollectionService(config, adapter, Object.assign(options, always))
  await handler.ready()
  await adapter.write([{ in: 'notes', insert: { _id: ID, _version: 1, text: 5 } }], {})
  return handler
}

const read = async (handler: (request: Request) => Promise<Response>, path: string): Promise<string> =>
  (await handler(new Request(`http://service.test${path}`))).text()

const served = async (handler: Handler, path: string, ask = fetch as typeof judgedFetch): Promise<string> => {
  const server = createServer(toNodeHandler(handler)).listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const answer = await ask(`http://localhost:${port}${path}`, { headers: { connection: 'close' } })
  const text = await answer.text()
  server.closeAllConnections()
  server.close()
  return text
}

const batch = async (handler: Handler): Promise<string> => {
  const body = JSON.stringify({ operations: [{ method: 'GET', path: `/notes/${ID}` }] })
  const headers = { 'content-type': 'application/json' }
  return (await handler(new Request('http://service.test/_batch', { method: 'POST', body, headers }))).text()
}

const WAYS: readonly (readonly [way: string, ask: (handler: Handler) => Promise<string>])[] = [
  ['of a handler', (handler) => read(handler, `/notes/${ID}`)],
  [
    'of a handler for a caller',
    (handler) => read(handler.as({ id: 'ann', roles: ['editor'] }), `/notes/${ID}`),
  ],
  ['of a mount', (handler) => served(handler, `/notes/${ID}`)],
  ['with a page', (handler) => read(handler, '/notes?limit=1')],
  ['that is a stream', (handler) => read(handler, '/notes')],
  ['that is a stream of a mount', (handler) => served(handler, '/notes')],
  ['of a batch', batch],
]

describe('an answer that is not as described is noted, and given on as it is', () => {
  test.each(WAYS)('%s', async (_, ask) => {
    const before = judged.answers
    expect(await ask(await createWrong())).toContain('"text":5')
    expect(judged.answers).toBe(before + 1)
    expect(takeFaults()).toEqual([expect.stringMatching(/is not as described: .*\/text: type string/)])
  })

  test('of a service in another process, which describes itself', async () => {
    await served(await createWrong({ openapi: true }), `/notes/${ID}`, judgedFetch)
    // This one is judged in this process too.
    const fault = expect.stringMatching(/^GET .* is not as described: .*\/text: type string/)
    expect(takeFaults()).toEqual([fault, fault])
  })

  test('but for documents of others, which no description fits', async () => {
    const handler = await createWrong(holdOthers({}))
    await read(handler, `/notes/${ID}`)
    expect(takeFaults()).toEqual([])
  })
})

const READERS: readonly (readonly [who: string, reader: KnownCaller | null | undefined])[] = [
  ['everybody', undefined],
  ['nobody', null],
  ['an editor', fromHost({ id: 'ann', roles: ['editor'] })],
]

test.each(READERS)('what answers are held against is what the document says, to %s', (_, reader) => {
  const plan = compileConfig(config, { production: false, hasAuthenticate: false })
  const service: DescribedService = {
    plan,
    accounts: plan.auth,
    deliver: undefined,
    page: undefined,
    hasAccountRoutes: true,
    hasHost: false,
    hasHooks: false,
  }
  const { paths, components } = describeService(service, reader)
  const description = createDescription(service, reader)
  const isMade = new Set<string>()
  const compare = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (key !== '$ref') compare(inner)
      else if (!isMade.has(inner)) {
        isMade.add(inner)
        const component = description.resolve({ $ref: inner })
        expect(component).toEqual(findIn({ components })(inner))
        compare(component)
      }
    }
  }
  expect(Object.keys(paths).length).toBeGreaterThan(4)
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { responses }] of Object.entries(methods)) {
      const found = description.findResponses(method.toUpperCase(), path.replace('{id}', 'a'))
      expect(found, `${method} ${path}`).toEqual(responses)
      compare(found)
    }
  expect(isMade.size).toBeGreaterThan(10)
})

/** What stands where a service answers outside of this process, or is not judged, or not in all. */
const ROUND = new RegExp(
  [
    String.raw`'collection-service(?:/\w+)?'|\bdist/(?:index|cli)\b|, 'dist', |support/(?:command|workers)\.js`,
    String.raw`\b(?:leaveUnjudged|holdOthers|holdsOthers)\b|judged-respond|(?:from |import\()'[^']*/respond\.js'`,
  ].join('|'),
)

/** Who goes round what judges answers, and why: files, and folders that end in a slash. */
const REASONS: { readonly [path: string]: string } = {
  'bench/': 'measures the built package in processes of its own, where nothing may come between',
  'cli/':
    'starts the built command: judgedFetch judges what its service answers, but where processes share one port',
  'cluster/': 'asks the built package on several machines',
  'contract/definitions.test.ts': 'stores documents of another configuration',
  'contract/failures.test.ts': 'has a storage that throws what none throws',
  'contract/stored-documents.test.ts': 'stores documents of another configuration',
  'contract/stream-ends.test.ts': 'ends a process in the middle of an answer',
  'docs/': 'runs the programs of the guide, which import the built package as a user does',
  'durability/': 'ends and slows down processes, and counts their memory: each has the built package',
  'examples/': 'runs the examples, which import the built package as a user does',
  'large/': 'counts the memory of the built package in a process of its own',
  'mutants/create-mutant.ts': 'breaks the service on purpose: what it answers is judged by others',
  'mutants/forged-headers.test.ts': 'breaks what makes the answers on purpose',
  'mutants/full-rights.test.ts': 'breaks what makes the answers on purpose',
  'mutants/public-path.test.ts': 'breaks what makes the answers on purpose',
  'packaging/built.test.ts': 'is about the built package',
  'packaging/judged.test.ts': 'is about what judges',
  'packaging/package.test.ts': 'is about the built package',
  'packaging/way-of-a-request.test.ts': 'counts the files that a request goes through',
  'page/': 'runs in a browser, against the built command',
  'operations/': 'asks the built package through real proxies',
  'runtimes/': 'runs the built package in other runtimes',
  'security/output.test.ts': 'has a storage that throws, and holds what the configuration hides',
  'support/command.ts': 'starts the built command for others',
  'support/insight/': 'stores documents that one of two configurations does not allow',
  'support/judged.ts': 'is how to go round',
  'support/judged-respond.ts': 'looks at who does',
  'support/laws.ts': 'stores documents of another configuration at random',
  'support/service.ts': 'hands on what a test says of its documents',
  'support/migrate-laws.ts': 'stores documents of another configuration',
  'support/schema-change-laws.ts': 'stores documents of another configuration at random',
  'support/schema-record-laws.ts': 'starts services with other configurations',
  'support/stored-laws.ts': 'starts a service with another configuration',
  'security/schema-changes.test.ts': 'starts services that their documents do not fit',
  'security/stored-names.test.ts': 'stores documents of another configuration',
  'security/stored.test.ts': 'stores documents of another configuration',
  'support/stored.ts': 'stores the documents of a table past the service',
  'support/write-laws.ts': 'stores documents of another configuration at random',
  'vitest.config.ts': 'puts what judges in its place',
}

test('nobody else goes round it', async () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const files = (await readdir(root, { recursive: true })).filter((file) => /\.[mc]?[jt]sx?$/.test(file))
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as const),
  )
  const going = texts.filter(([, text]) => ROUND.test(text)).map(([file]) => file)
  const isOf = (reason: string, file: string): boolean =>
    reason.endsWith('/') ? file.startsWith(reason) : file === reason
  const reasons = Object.keys(REASONS)
  expect(going.filter((file) => !reasons.some((reason) => isOf(reason, file)))).toEqual([])
  expect(reasons.filter((reason) => !going.some((file) => isOf(reason, file)))).toEqual([])
})

test.each<[string, string, string | null, string | undefined]>([
  ['POST /items', '/secret', null, 'secret'],
  ['POST /items', '/secret/0/in', null, 'secret'],
  ['POST /items/bulk', '/documents/3/secret', null, 'secret'],
  ['PATCH /items/1', '/secret', 'user', 'secret'],
  ['PATCH /items/1', '/secret', 'keeper', undefined],
  ['POST /items', '/title', null, undefined],
  ['POST /items', '', null, undefined],
  ['POST /items', '/undeclared', null, undefined],
  ['GET /items', '/secret', null, undefined],
])('a fault that names what its caller may not know is noted: %s, %j of %j', (line, path, role, name) => {
  const rule = (pick: string[]) => ({ properties: { pick: new Set(pick), omit: new Set() } })
  const items = {
    fields: [{ name: 'title' }, { name: 'secret' }],
    permissions: {
      create: new Map([['*', rule(['title'])]]),
      read: new Map([['keeper', rule(['secret'])]]),
      update: new Map([['user', null]]),
    },
  }
  const service = { accounts: null, plan: { collections: new Map([['items', items]]) } }
  const [method = '', at = ''] = line.split(' ')
  const asked = { method, path: at, caller: role === null ? null : { id: 'ann', roles: [role] } }
  const problem = JSON.stringify({ code: 'validation_failed', errors: [{ path, code: 'required' }] })
  expect(findUnknownName(service as never, asked as never, problem)).toBe(name)
})
