import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { dump, load } from '../../src/tools/transfer/index.js'
import { createTestService, type TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { config, dumpLines, fill } from '../support/transfer-laws.js'

// CONTRACT.md §7, "Dumps": a dump that somebody has written, and what a dump gives away

const SECRET = 'a value that is secret'
const head = (...collections: readonly string[]): string =>
  `${JSON.stringify({ format: 'collection-service dump', version: 1, collections })}\n`
const line = (name: string, document: string): string =>
  `{"in":${JSON.stringify(name)},"document":${document}}\n`

async function messageOf(adapter: StorageAdapter, lines: readonly string[]): Promise<string> {
  return load(config, adapter, lines).then(
    () => '',
    (thrown: Error) => thrown.message,
  )
}

describe.each(useStorages())('in %s, a dump', (_, create) => {
  test.each(['_keys', '_ledgers', '_deliveries', '_consumers', '_changes', '_structures', '__proto__', ''])(
    'cannot write to the collection "%s"',
    async (name) => {
      const adapter = create()
      const lines = [head(name), line(name, '{"_id":"a","_version":1}')]
      expect(await messageOf(adapter, lines)).toMatch(/which the configuration does not declare/)
      const hidden = [head('projects'), line(name, '{"_id":"a","_version":1}')]
      expect(await messageOf(adapter, hidden)).toMatch(/which the first line does not name/)
      await adapter.close()
    },
  )

  test('reaches no prototype', async () => {
    const adapter = create()
    const lines = [
      head('projects'),
      line(
        'projects',
        '{"_id":"a","_version":1,"__proto__":{"polluted":true},"settings":{"__proto__":{"x":1}}}',
      ),
      '{"__proto__":{"end":{}},"end":{"projects":{"documents":9,"sha256":"x"}}}\n',
    ]
    expect(await messageOf(adapter, lines)).toMatch(/^line [23]: /)
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    await adapter.close()
  })

  test('that is rejected names no value', async () => {
    const adapter = create()
    const document = (id: string): string =>
      `{"_id":"${id}","_version":1,"name":${JSON.stringify(SECRET)},"_hashes":{"password":${JSON.stringify(SECRET)}}}`
    const rejected: readonly (readonly string[])[] = [
      [head('projects'), line('projects', document('b')), line('projects', document('c'))],
      [head('projects'), line('projects', document('e')), line('projects', document('d'))],
      [head('projects'), `{"in":"projects","document":${document('f')},"${SECRET}\n`],
      [head('projects'), line('projects', document('g').replace('"_version":1', `"_version":"${SECRET}"`))],
    ]
    for (const lines of rejected) {
      const end = '{"end":{"projects":{"documents":2,"sha256":""}}}\n'
      const message = await messageOf(adapter, [...lines, end])
      expect(message).not.toBe('')
      expect(message).not.toContain(SECRET)
    }
    await adapter.close()
  })
})

describe('a dump', () => {
  test('without sessions has nothing by which its reader is signed in', async () => {
    const { service, tokens } = await fill(createMemoryAdapter())
    const text = (await dumpLines({ dump }, service.adapter)).join('')
    const sessions = await service.adapter.list('_sessions', {
      filter: everything,
      sort: [],
      skip: 0,
      limit: null,
    })
    for (const secret of [...tokens, ...sessions.map(({ _id }) => _id), 'secret 0', 'secret 1'])
      expect(text).not.toContain(`"${secret}"`)
  })

  test('with sessions has digests of tokens, which sign nobody in', async () => {
    const { service } = await fill(createMemoryAdapter())
    const lines = await dumpLines({ dump }, service.adapter, { sessions: true })
    const digests = lines.flatMap((one) => /"in":"_sessions".*"_id":"([^"]+)"/.exec(one)?.[1] ?? [])
    expect(digests).toHaveLength(9)
    for (const token of digests) expect((await service.send('GET /auth/me', { token })).status).toBe(401)
  })

  test('does not make a hash readable', async () => {
    const { service } = await fill(createMemoryAdapter())
    const adapter = createMemoryAdapter()
    await load(config, adapter, await dumpLines({ dump }, service.adapter))
    const moved: TestService = createTestService(config, { adapter })
    const { body } = await moved.send('POST /auth/login', {
      body: { email: 'caller0@example.com', password: 'secret 0' },
    })
    const { text } = await moved.send('GET /users', { token: body.token })
    expect(text).not.toMatch(/_hashes|_stamp|password/)
  })
})
