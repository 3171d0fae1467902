import { describe, expect, test } from 'vitest'
import { createTestService } from '../support/service.js'
import { ANN, BEN, CONFIG, ZOE } from './fixture.js'

// CONTRACT.md §5, "Rules"

/** Notes that only their owner sees, by a field that nobody may set. */
const config = {
  ...CONFIG,
  collections: {
    ...CONFIG.collections,
    notes: {
      schema: { title: { type: 'string' }, owner: { type: 'string', index: true } },
      permissions: {
        user: {
          read: { where: { owner: '$user._id' } },
          create: { omit: ['owner'], set: { owner: '$user._id' } },
        },
        admin: true,
      },
    },
  },
}

const LONG = 'a'.repeat(20_000)
const NOTE_OF_BEN = '01900000-0000-7000-8000-00000000001b'

const notes = [
  { _id: '01900000-0000-7000-8000-00000000001a', title: 'first', owner: ANN },
  { _id: NOTE_OF_BEN, title: LONG, owner: BEN },
  { _id: '01900000-0000-7000-8000-00000000001c', title: 'second', owner: ANN },
]
const createNotes = () => createTestService(config, { documents: { notes } })

// `$user` is a user of the service: `handler.as` takes the host's word for who that is.
const asAnn = { caller: { id: ANN } }
const asAdmin = { caller: { id: ZOE, roles: ['admin'] } }

describe('a condition on the caller', () => {
  const { send, list } = createNotes()

  test.each([
    ['a list', '/notes', ['first', 'second']],
    ['asking for the documents of another', `/notes?q[owner]="${BEN}"`, []],
    ['asking for all but the own', `/notes?q[owner][$ne]="${ANN}"`, []],
    ['asking for the id of another', `/notes?q[_id]="${NOTE_OF_BEN}"`, []],
    [
      'a group that is always true',
      `/notes?q[$or][0][owner]="${BEN}"&q[$or][1][_id][$exists]=true`,
      ['first', 'second'],
    ],
    ['a pattern that backtracks', '/notes?q[title][$regex]=(a%2B)%2B$', []],
    ['skipping', '/notes?skip=1', ['second']],
  ])('holds for %s', async (_, path, titles) => {
    expect(await list(path, 'title', asAnn)).toEqual(titles)
    const [, query = ''] = path.split('?')
    const count = await send(`GET /notes/count${query.startsWith('q') ? `?${query}` : ''}`, asAnn)
    expect(count.body).toEqual({ total: path.includes('skip') ? 2 : titles.length })
  })

  test('makes the document of another one that does not exist', async () => {
    const one = await send(`GET /notes/${NOTE_OF_BEN}`, asAnn)
    const none = await send('GET /notes/01900000-0000-7000-8000-0000000000ff', asAnn)
    const strip = ({ status, headers, body: { requestId, ...body } }: typeof one) => [
      status,
      [...headers],
      body,
    ]
    expect(strip(one)).toEqual(strip(none))
    expect(one.status).toBe(404)
  })

  test('keeps strangers out altogether', async () => {
    expect((await send('GET /notes')).status).toBe(401)
    expect((await send(`GET /notes/${NOTE_OF_BEN}`)).status).toBe(401)
    expect((await send('POST /notes', { body: { title: 'x' } })).status).toBe(401)
  })
})

test('a value put in over the body cannot be forged', async () => {
  const { send, list } = createNotes()
  for (const owner of [BEN, null, { $ne: 1 }, '$user._id']) {
    const { status, body } = await send('POST /notes', { ...asAnn, body: { title: 'mine', owner } })
    expect(status).toBe(201)
    expect(body.owner).toBe(ANN)
  }
  expect(await list(`/notes?q[owner]="${BEN}"`, 'title', asAdmin)).toEqual([LONG])
})

test('fifty requests of two callers at once get each caller its own', async () => {
  const { list } = createNotes()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => {
      const id = i % 2 === 0 ? ANN : BEN
      return list('/notes', 'owner', { caller: { id } }).then((owners) =>
        owners.every((owner) => owner === id),
      )
    }),
  )
  expect(answers).toEqual(Array(50).fill(true))
})
