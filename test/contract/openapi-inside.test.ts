import { expect, test } from 'vitest'
import { describeApi } from '../../src/tools/insight/index.js'
import { createJudge, findIn } from '../support/json-schema.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §8, "OpenAPI": bodies where something inside an object is immutable, in batches, and of references

type Json = { readonly [name: string]: unknown }

const caller = { id: 'ann' }
const permissions = { user: { read: true, create: true, update: true } }

const boxOf = (id: object, name: object, more: object = {}): Json => ({
  type: 'object',
  properties: { id: { type: 'string', immutable: true, ...id }, name: { type: 'string', ...name } },
  ...more,
})

/** A service and the judges of its bodies. */
function createDescribed(box: Json) {
  const config = { collections: { things: { schema: { note: { type: 'string' }, box }, permissions } } }
  const document = describeApi(config, { caller, authenticate: true })
  const judge = createJudge(findIn(document))
  const takes = (use: 'replace' | 'patch', body: Json): boolean =>
    judge({ $ref: `#/components/schemas/things.${use}` }, body) === undefined
  return { takes, service: createTestService(config, { authenticate: () => null }) }
}

const FULL = { id: 'x', name: 'y' }
const BODIES: readonly Json[] = [
  {},
  { box: null },
  ...[{}, { name: 'b' }, { id: 'a' }, { id: 'a', name: 'b' }].map((box) => ({ box })),
]

const VARIANTS = [{}, { required: true }, { default: 'd' }, { required: true, default: 'd' }].flatMap((id) =>
  [{}, { required: true }, { required: true, default: 'n' }].flatMap((name) =>
    [{}, { required: true }, { nullable: true }, { default: FULL }, { required: true, default: FULL }].map(
      (more) => [id, name, more] as const,
    ),
  ),
)

const CASES = [
  ...VARIANTS.map(([id, name, more]) => ({ box: boxOf(id, name, more), bodies: BODIES })),
  ...VARIANTS.filter(([, , more]) => Object.keys(more).length === 0).map(([id, name]) => ({
    box: { type: 'object', properties: { inner: boxOf(id, name) } },
    bodies: BODIES.map((body) => (body.box ? { box: { inner: body.box } } : body)),
  })),
]

test.each(CASES)('what is described is taken, whatever is stored: $box', async ({ box, bodies }) => {
  const { takes, service } = createDescribed(box)
  const updates = (['PUT', 'PATCH'] as const).flatMap((method) =>
    bodies
      .filter((body) => takes(method === 'PUT' ? 'replace' : 'patch', body))
      .map((body) => ({ method, body })),
  )
  for (const first of bodies) {
    for (const { method, body } of updates) {
      const made = await service.send('POST /things', { body: first, caller })
      if (made.status !== 201) break
      const answer = await service.send(`${method} /things/${made.body._id}`, { body, caller })
      // An object that the document lacks cannot get what is immutable in it.
      const faults = (answer.body.errors ?? []).filter(
        ({ path, code }: Json) => !(String(path).endsWith('/id') && code === 'required' && !made.body.box),
      )
      expect(faults, `${method} ${JSON.stringify(body)} of ${JSON.stringify(made.body)}`).toEqual([])
    }
  }
})

test.each<[what: string, id: object, name: object, replace: Json, isTaken: boolean]>([
  ['what is kept would be incomplete', {}, { required: true }, {}, false],
  ['it is complete again', {}, { required: true }, { box: { name: 'b' } }, true],
  ['nothing is missing', {}, {}, {}, true],
  ['a default fills it', {}, { required: true, default: 'n' }, {}, true],
  ['only a default is immutable', { default: 'd' }, {}, { box: { name: 'b' } }, true],
])('a PUT where %s', (_, id, name, body, isTaken) => {
  expect(createDescribed(boxOf(id, name)).takes('replace', body)).toBe(isTaken)
})

test('of secrets an operation of a batch may hold none', async () => {
  const schema = { name: { type: 'string' }, pin: { type: 'hash' }, code: { type: 'hash', nullable: true } }
  const config = {
    collections: { things: { schema, permissions: { '*': { read: true, create: true, update: true } } } },
  }
  const judge = createJudge(findIn(describeApi(config, { caller: null })))
  const service = createTestService(config)
  const { _id } = (await service.send('POST /things', { body: { name: 'a' } })).body
  const takes = async (operation: Json): Promise<readonly [isDescribed: boolean, status: number]> => {
    const operations = [operation]
    const path = '#/paths/~1_batch/post/requestBody/content/application~1json/schema'
    const isDescribed = judge({ $ref: path }, { operations }) === undefined
    return [isDescribed, (await service.send('POST /_batch', { body: { operations } })).status]
  }
  for (const [method, path] of [
    ['POST', '/things'],
    ['PATCH', `/things/${_id}`],
    ['PUT', `/things/${_id}`],
  ]) {
    expect(await takes({ method, path, body: { name: 'b' } })).toEqual([true, 200])
    for (const secret of [{ pin: 'secret' }, { code: 'secret' }])
      expect(await takes({ method, path, body: { name: 'b', ...secret } })).toEqual([false, 400])
  }
  expect(await takes({ method: 'PATCH', path: `/things/${_id}`, body: { code: null } })).toEqual([true, 200])
})

test('what needs a reference to what its writer may not read is no operation', async () => {
  const other = { type: 'reference', collection: 'others' } as const
  const collectionsOf = (field: object) => ({
    others: { schema: {}, permissions: { staff: { read: true } } },
    things: { schema: { other: field }, permissions: { user: { create: true }, staff: { create: true } } },
  })
  const isThere = (field: object, roles: readonly string[]): boolean => {
    const config = { collections: collectionsOf(field) }
    const { paths } = describeApi(config, { caller: { id: 'ann', roles }, authenticate: true })
    return (paths['/things'] as Json | undefined)?.post !== undefined
  }
  expect(isThere({ ...other, required: true }, [])).toBe(false)
  expect(isThere({ ...other, required: true }, ['staff'])).toBe(true)
  expect(isThere(other, [])).toBe(true)
  const inside = { type: 'object', properties: { other: { ...other, required: true } } }
  const list = { type: 'array', items: other }
  for (const [field, isPossible] of [
    [{ ...inside, required: true }, false],
    [inside, true],
    [{ ...list, required: true, minItems: 1 }, false],
    [{ ...list, required: true }, true],
  ] as const)
    expect([field, isThere(field, [])]).toEqual([field, isPossible])
})
