import { afterEach, describe, expect, test, vi } from 'vitest'
import type { FieldRef } from '../../src/core/filter/filter.js'
import type { CollectionPlan } from '../../src/core/storage.js'
import { createTestService, faultsOf } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'

/** What a configuration no longer makes unique (CONTRACT.md §7, "Storage"). */

const field = (path: string): FieldRef => ({ path, type: 'string', each: false })
const planOf = (...unique: readonly (readonly string[])[]): readonly CollectionPlan[] => [
  { name: 'things', indexes: unique.map((paths) => ({ fields: paths.map(field), unique: true })) },
]

const lasting = useLastingStorages()

describe.each(lasting.filter(([name]) => name !== 'memory'))(
  'what was made unique in %s',
  (_, createLasting) => {
    afterEach(() => void vi.restoreAllMocks())

    test('stays so, and a start of another configuration warns of it', async () => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      const create = createLasting()
      /** Opens the storage with a plan, and gives what is warned of and what becomes of two equal documents. */
      const open = async (plans: readonly CollectionPlan[], ids: readonly string[]) => {
        warn.mockClear()
        const adapter = create()
        await adapter.open(plans)
        const results = []
        for (const _id of ids)
          results.push(
            (await adapter.write([{ in: 'things', insert: { _id, _version: 1, a: 'x', b: _id } }], {})).ok,
          )
        await adapter.close()
        return { results, warned: warn.mock.calls.map(([message, options]) => [message, options]) }
      }
      const first = await open(planOf(['a'], ['a', 'b']), ['1', '2'])
      expect(first).toEqual({ results: [true, false], warned: [] })

      const without = await open(planOf(['a', 'b']), ['3'])
      expect(without.results).toEqual([false])
      expect(without.warned).toEqual([
        [
          expect.stringMatching(
            /^documents of things must still have different values in a, .* drop the index _unique_\w+ /,
          ),
          { code: 'COLLECTION_SERVICE_LEFT_UNIQUE' },
        ],
      ])
      expect((await open(planOf(), [])).warned).toHaveLength(2)
      expect((await open(planOf(['a'], ['a', 'b']), [])).warned).toEqual([])
      // Another order of the fields binds as much.
      expect((await open(planOf(['a'], ['b', 'a']), [])).warned).toEqual([])
      // Of other collections it says nothing.
      expect((await open([{ name: 'others', indexes: [] }], [])).warned).toEqual([])
    })
  },
)

describe.each(lasting)('a conflict in what is left unique in %s', (_, createLasting) => {
  const opened = closeAfterEach()
  afterEach(() => void vi.restoreAllMocks())

  test.each([
    ['names nothing that is not declared', false, ['slug']],
    ['names what documents may hold beside what is declared', true, ['slug', 'team']],
  ])('%s', async (_name, additionalProperties, named) => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const create = createLasting()
    const start = (settings: object) => {
      const service = createTestService(
        { collections: { notes: settings } },
        { adapter: create(), authenticate: () => ({ id: 'ann' }) },
      )
      opened.push(service)
      return service
    }
    const former = start({
      schema: { team: { type: 'string' }, slug: { type: 'string' } },
      indexes: [{ fields: ['team', 'slug'], unique: true }],
      permissions: { '*': true },
    })
    const bodies = ['x', 'y'].map((slug) => ({ team: 'a', slug }))
    const [, second] = await Promise.all(bodies.map((body) => former.send('POST /notes', { body })))
    await former.handler.close()

    const service = start({
      schema: { slug: { type: 'string' } },
      additionalProperties,
      permissions: { user: { read: true, update: true } },
    })
    const sent = await service.send(`PATCH /notes/${second?.body._id}`, { body: { slug: 'x' } })
    expect([sent.status, sent.body.code]).toEqual([409, 'unique_violation'])
    const paths = sent.body.errors.map(({ path }: { readonly path: string }) => path)
    expect(paths.filter((path: string) => path !== '').sort()).toEqual(named.map((name) => `/${name}`))
    expect(sent.text.includes('team')).toBe(additionalProperties)
  })

  test('names a system field that its caller may read', async () => {
    const config = {
      collections: {
        notes: {
          schema: { slug: { type: 'string' } },
          indexes: [{ fields: ['createdBy', 'slug'], unique: true }],
          permissions: { user: { read: true, create: true } },
        },
      },
    } as const
    const service = createTestService(config, {
      adapter: createLasting()(),
      authenticate: () => ({ id: 'ann' }),
    })
    opened.push(service)
    const body = { slug: 'x' }
    await service.send('POST /notes', { body })
    expect(Object.keys(faultsOf(await service.send('POST /notes', { body }))).sort()).toEqual([
      '/createdBy',
      '/slug',
    ])
  })
})
