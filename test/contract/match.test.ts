import { describe, expect, test } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import { faultsOf, type Sent, type TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, readStored } from '../support/stored.js'
import {
  all,
  ann,
  arrayOf,
  type Json,
  objectOf,
  outcomeOf,
  type Stored,
  text,
  to,
  useOpen,
} from './support/references.js'

// CONTRACT.md §2, "Match"

const storages = useStorages()
const open = useOpen()

const match = { match: { team: 'team' } }
const [A, B] = [idOf(11), idOf(12)]
const [PA, PB, PNONE, PHIDDEN] = [idOf(21), idOf(22), idOf(23), idOf(24)]
const [T1, T2] = [idOf(31), idOf(32)]
const MISMATCH = [400, 'validation_failed']
const IN_USE = [409, 'reference_in_use']

const collections = {
  teams: { schema: { name: text }, permissions: all },
  projects: {
    schema: { team: to('teams'), title: text, hidden: { type: 'boolean' } },
    permissions: {
      user: { create: true, read: { where: { hidden: { $ne: true } } }, update: { check: {} }, delete: true },
    },
  },
  tasks: {
    schema: {
      team: to('teams'),
      title: text,
      project: to('projects', match),
      others: arrayOf(to('projects', match)),
      o: objectOf({ r: to('projects', match) }),
      list: arrayOf(objectOf({ r: to('projects', match), x: text })),
      parent: to('tasks', match),
    },
    permissions: {
      member: true,
      shy: { read: { omit: ['team', 'project'] }, create: true, update: true, delete: true },
    },
  },
} as const

const stored: Stored = {
  teams: [
    { _id: A, name: 'a' },
    { _id: B, name: 'b' },
  ],
  projects: [
    { _id: PA, team: A },
    { _id: PB, team: B },
    { _id: PNONE },
    { _id: PHIDDEN, team: A, hidden: true },
  ],
  tasks: [
    { _id: T1, team: A, project: PA },
    { _id: T2, title: 'of no team' },
  ],
}

const faultsAt = (sent: Sent): unknown => [outcomeOf(sent), faultsOf(sent)]
const mismatch = (...paths: readonly string[]): unknown => [
  MISMATCH,
  Object.fromEntries(paths.map((path) => [path, 'unknown_reference'])),
]

describe.each(storages)('references that must agree, in %s', (_, create) => {
  const start = (more: Stored = {}): Promise<TestService> =>
    open(collections, { ...stored, ...more }, { adapter: create() as StorageAdapter })
  const user = { caller: { ...ann, roles: ['member'] } }
  const shy = { caller: { ...ann, roles: ['shy'] } }

  test.each<[what: string, body: Json, paths: readonly string[]]>([
    ['with the same value', { team: A, project: PA }, []],
    ['without a reference', { team: A }, []],
    ['with another value', { team: B, project: PA }, ['/project']],
    ['without the value here', { project: PA }, ['/project']],
    ['without the value there', { team: A, project: PNONE }, ['/project']],
    ['without either value', { project: PNONE }, ['/project']],
    ['to what cannot be read', { team: A, project: PHIDDEN }, ['/project']],
    ['to what is not there', { team: A, project: idOf(99) }, ['/project']],
    ['in an array', { team: A, others: [PA, PB, PA, PNONE] }, ['/others/1', '/others/3']],
    ['in an object', { team: B, o: { r: PA } }, ['/o/r']],
    ['in an array of objects', { team: B, list: [{ r: PB }, { x: 'x' }, { r: PA }] }, ['/list/2/r']],
    ['to its own collection', { team: B, parent: T1 }, ['/parent']],
    ['of several, all at once', { team: B, project: PA, parent: T1, others: [PB] }, ['/project', '/parent']],
  ])('a create %s', async (_what, body, paths) => {
    const service = await start()
    const expected = paths.length === 0 ? 201 : mismatch(...paths)
    const sent = await service.send('POST /tasks', { body, ...user })
    expect(paths.length === 0 ? sent.status : faultsAt(sent)).toEqual(expected)
    const bulk = await service.send('POST /tasks/bulk', { body: { documents: [{ team: A }, body] }, ...user })
    expect(paths.length === 0 ? bulk.status : faultsAt(bulk)).toEqual(
      paths.length === 0 ? 201 : mismatch(...paths.map((path) => `/documents/1${path}`)),
    )
    const put = await service.send(`PUT /tasks/${idOf(77)}`, {
      body,
      ...user,
      headers: { 'if-none-match': '*' },
    })
    expect(paths.length === 0 ? put.status : faultsAt(put)).toEqual(expected)
  })

  test.each<[what: string, method: string, body: Json, expected: unknown]>([
    ['of something else', 'PATCH', { title: 'x' }, 200],
    ['of the value alone', 'PATCH', { team: B }, mismatch('/project')],
    ['that takes the value away', 'PATCH', { team: null }, mismatch('/project')],
    ['of the reference alone', 'PATCH', { project: PB }, mismatch('/project')],
    ['of both sides of one document', 'PATCH', { team: B, project: PB }, 200],
    ['that takes the reference away', 'PATCH', { team: B, project: null }, 200],
    ['of a value that stays', 'PATCH', { team: A }, 200],
    ['that adds another', 'PATCH', { others: [PA, PB] }, mismatch('/others/1')],
    ['to itself', 'PATCH', { parent: T1 }, 200],
    ['to itself, as it becomes', 'PATCH', { parent: T1, team: B, project: PB }, 200],
    ['that leaves out the value', 'PUT', { project: PA }, mismatch('/project')],
    ['that leaves out both', 'PUT', { title: 'x' }, 200],
    ['that agrees', 'PUT', { team: B, project: PB }, 200],
  ])('an update %s: %s', async (_what, method, body, expected) => {
    const service = await start()
    const sent = await service.send(`${method} /tasks/${T1}`, { body, ...user })
    expect(typeof expected === 'number' ? sent.status : faultsAt(sent)).toEqual(expected)
  })

  test('what its caller may not read is judged as it is stored', async () => {
    const service = await start()
    expect(faultsAt(await service.send(`PATCH /tasks/${T1}`, { body: { team: B }, ...shy }))).toEqual(
      mismatch('/project'),
    )
    expect((await service.send(`PATCH /tasks/${T1}`, { body: { team: A }, ...shy })).status).toBe(200)
    expect(faultsAt(await service.send(`PATCH /tasks/${T1}`, { body: { others: [PB] }, ...shy }))).toEqual(
      mismatch('/others/0'),
    )
    expect((await service.send(`PATCH /tasks/${T1}`, { body: { others: [PA] }, ...shy })).status).toBe(200)
  })

  test('a change here judges the reference anew, and who may read its target', async () => {
    const service = await start({ tasks: [{ _id: T1, team: B, project: PHIDDEN }] })
    const patch = (body: Json): Promise<Sent> => service.send(`PATCH /tasks/${T1}`, { body, ...user })
    // What was stored before the configuration said so stays until either side changes.
    expect((await patch({ title: 'x' })).status).toBe(200)
    expect(faultsAt(await patch({ team: A }))).toEqual(mismatch('/project'))
  })

  test.each<[what: string, body: Json, referrers: readonly Json[], expected: unknown]>([
    ['nothing refers to it', { team: B }, [], 200],
    ['one refers to it', { team: B }, [{ team: A, project: PA }], IN_USE],
    ['it loses the value', { team: null }, [{ team: A, project: PA }], IN_USE],
    ['the value stays', { team: A, title: 'x' }, [{ team: A, project: PA }], 200],
    ['one in an array refers to it', { team: B }, [{ team: A, others: [PA] }], IN_USE],
    ['one in an object refers to it', { team: B }, [{ team: A, o: { r: PA } }], IN_USE],
    ['one in an array of objects does', { team: B }, [{ team: A, list: [{}, { r: PA }] }], IN_USE],
    ['one already has the new value', { team: B }, [{ team: B, project: PA }], 200],
    [
      'only one of several has',
      { team: B },
      [
        { team: B, project: PA },
        { team: A, project: PA },
      ],
      IN_USE,
    ],
    ['one without the value does', { title: 'x', team: B }, [{ project: PA }], IN_USE],
  ])('a change of the target when %s', async (_what, body, referrers, expected) => {
    const tasks = referrers.map((one, i) => ({ _id: idOf(300 + i), ...one }))
    const service = await start({ tasks })
    expect(outcomeOf(await service.send(`PATCH /projects/${PA}`, { body, ...user }))).toEqual(expected)
    const changed = expected === 200 ? body : {}
    expect(await readStored(service, 'projects', PA)).toMatchObject(
      changed.team === null ? {} : { team: A, ...changed },
    )
  })

  test('a target that comes back under its _id must agree with who still refers to it', async () => {
    const service = await start({ tasks: [{ _id: T1, team: A, project: idOf(50) }] })
    const put = (body: Json): Promise<Sent> =>
      service.send(`PUT /projects/${idOf(50)}`, { body, ...user, headers: { 'if-none-match': '*' } })
    expect(outcomeOf(await put({ team: B }))).toEqual(IN_USE)
    expect(outcomeOf(await put({}))).toEqual(IN_USE)
    expect(outcomeOf(await put({ team: A }))).toEqual(201)
  })

  describe('in a batch', () => {
    const run = async (operations: readonly Json[], more: Stored = {}): Promise<unknown> => {
      const service = await start(more)
      const sent = await service.send('POST /_batch', { body: { operations }, ...user })
      return sent.status === 200
        ? sent.body.results.map(({ status }: { status: number }) => status)
        : [sent.status, sent.body.code, sent.body.operation, ...Object.keys(faultsOf(sent))]
    }
    const patch = (path: string, body: Json) => ({ method: 'PATCH', path, body })
    const post = (body: Json) => ({ method: 'POST', path: '/tasks', body })
    const remove = (path: string) => ({ method: 'DELETE', path })
    const PROJECT = `/projects/${PA}`
    const faultsOfHeld = {
      'a reference': ['/project'],
      'an array': ['/others/0'],
      'an object': ['/o/r'],
      'an array of objects': ['/list/1/r'],
    } as const
    const TASK = `/tasks/${T1}`

    test.each<[what: string, operations: readonly Json[], expected: unknown]>([
      [
        'both sides move, the target first',
        [patch(PROJECT, { team: B }), patch(TASK, { team: B })],
        [200, 200],
      ],
      [
        'both sides move, the target last',
        [patch(TASK, { team: B }), patch(PROJECT, { team: B })],
        [200, 200],
      ],
      ['one side moves', [patch(PROJECT, { team: B })], [409, 'reference_in_use', 0]],
      [
        'the other side moves',
        [patch(TASK, { title: 'x' }), patch(TASK, { team: B })],
        [400, 'validation_failed', 1, '/operations/1/body/project'],
      ],
      [
        'one side moves and comes back',
        [patch(PROJECT, { team: B }), patch(PROJECT, { team: A })],
        [200, 200],
      ],
      ['the value moves and comes back', [patch(TASK, { team: B }), patch(TASK, { team: A })], [200, 200]],
      [
        'a new one is moved to where it agrees',
        [post({ team: B, project: PA }), patch(PROJECT, { team: B }), patch(TASK, { project: null })],
        [201, 200, 200],
      ],
      ['one that disagrees is gone', [patch(PROJECT, { team: B }), remove(TASK)], [200, 204]],
      ['its reference is gone', [patch(TASK, { team: B }), patch(TASK, { project: null })], [200, 200]],
      [
        'its reference is another one',
        [patch(TASK, { team: B }), patch(TASK, { project: PB }), patch(PROJECT, { team: null })],
        [200, 200, 200],
      ],
      [
        'references come before those that refer',
        [patch(PROJECT, { team: null }), patch(TASK, { title: 'x', others: [PB] })],
        [400, 'validation_failed', 1, '/operations/1/body/others/0'],
      ],
      [
        'of several the first operation is named',
        [post({ team: A, project: PB }), post({ team: B, project: PA })],
        [400, 'validation_failed', 0, '/operations/0/body/project'],
      ],
      [
        'an element that was added stays judged',
        [patch(TASK, { others: [PB] }), patch(TASK, { others: [PB, PA] })],
        [400, 'validation_failed', 0, '/operations/0/body/others/0'],
      ],
      ...(
        [
          ['a reference', { project: PA }],
          ['an array', { others: [PA] }],
          ['an object', { o: { r: PA } }],
          ['an array of objects', { list: [{ x: 'x' }, { r: PA }] }],
        ] as const
      ).flatMap(([where, held]): [what: string, operations: readonly Json[], expected: unknown][] => [
        [
          `the target leaves a new document, in ${where}`,
          [post({ team: A, ...held }), patch(PROJECT, { team: B })],
          [409, 'reference_in_use', 1],
        ],
        [
          `the target leaves a document that was led to it, in ${where}`,
          [
            patch(`/tasks/${T2}`, { team: A, ...held }),
            patch(TASK, { title: 'x' }),
            patch(PROJECT, { team: null }),
          ],
          [409, 'reference_in_use', 2],
        ],
        [
          `the target leaves a document and comes back, in ${where}`,
          [post({ team: A, ...held }), patch(PROJECT, { team: B }), patch(PROJECT, { team: A })],
          [201, 200, 200],
        ],
        [
          `a new document follows a target that has left, in ${where}`,
          [patch(TASK, { project: null }), patch(PROJECT, { team: B }), post({ team: A, ...held })],
          [
            ...[400, 'validation_failed', 2],
            ...faultsOfHeld[where].map((path) => `/operations/2/body${path}`),
          ],
        ],
        [
          `both sides move apart, the document last, in ${where}`,
          [
            patch(`/tasks/${T2}`, { team: A, ...held }),
            patch(PROJECT, { team: B }),
            patch(TASK, { team: B }),
            patch(`/tasks/${T2}`, { team: null }),
          ],
          [
            ...[400, 'validation_failed', 3],
            ...faultsOfHeld[where].map((path) => `/operations/3/body${path}`),
          ],
        ],
      ]),
      [
        'a mismatch stays that of the document where its target changes in something else',
        [post({ team: B, others: [PA] }), patch(PROJECT, { title: 'x' })],
        [400, 'validation_failed', 0, '/operations/0/body/others/0'],
      ],
      [
        'of two documents the one that its target has left comes behind the one that disagrees itself',
        [post({ team: A, others: [PA] }), post({ team: A, project: PB }), patch(PROJECT, { team: B })],
        [400, 'validation_failed', 1, '/operations/1/body/project'],
      ],
      [
        'what may not be read is refused in its turn',
        [post({ team: A, project: PHIDDEN }), patch(PROJECT, { team: B })],
        [400, 'validation_failed', 0, '/operations/0/body/project'],
      ],
    ])('%s', async (_what, operations, expected) => {
      expect(await run(operations)).toEqual(expected)
    })
  })
})
