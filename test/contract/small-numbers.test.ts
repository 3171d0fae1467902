import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf } from '../support/service.js'

// CONTRACT.md §3.1; §4, "Bodies"

const config = {
  collections: {
    things: {
      schema: {
        n: { type: 'number' },
        i: { type: 'integer' },
        list: { type: 'array', items: { type: 'number' } },
        text: { type: 'string' },
      },
      permissions: { '*': { read: true, create: true } },
    },
  },
}
const documents = {
  things: [
    { n: 0, text: '1e-400' },
    { n: 5e-324, list: [0] },
    { n: 1, i: 0 },
  ],
}

describe('a number in a query that is too close to zero to be told from it', () => {
  test.each<[query: string, parameter: string]>([
    ['q[n]=1e-400', 'q[n]'],
    ['q[n]=-1e-400', 'q[n]'],
    ['q[n]=0.1e-999', 'q[n]'],
    ['q[n]=1E-400', 'q[n]'],
    ['q[n][$eq]=1e-400', 'q[n]'],
    ['q[n][$ne]=1e-400', 'q[n][$ne]'],
    ['q[n][$gt]=1e-400', 'q[n][$gt]'],
    ['q[n][$lte]=-1e-400', 'q[n][$lte]'],
    ['q[i]=1e-400', 'q[i]'],
    ['q[list]=1e-400', 'q[list]'],
    ['q[$or][0][n]=1e-400', 'q[$or][0][n]'],
    ['q[n][$in]=[1e-400]', 'q[n][$in]'],
    ['q[n][$nin]=[1,-1E-400,2]', 'q[n][$nin]'],
    ['q[list][$in]=[0,0.0,0.1e-999]', 'q[list][$in]'],
  ])('is a fault: %s', async (query, parameter) => {
    const { send } = createTestService(config, { documents })
    for (const path of ['/things', '/things/count']) {
      const sent = await send(`GET ${path}?${query}`)
      expect([sent.status, sent.body.code]).toEqual([400, 'invalid_query'])
      expect(Object.keys(faultsOf(sent))).toEqual([parameter])
    }
  })

  test('is a fault however it is written: with 400 zeros', async () => {
    const { send } = createTestService(config, { documents })
    const sent = await send(`GET /things?q[n]=0.${'0'.repeat(400)}1`)
    expect([sent.status, sent.body.code]).toEqual([400, 'invalid_query'])
  })

  test.each<[query: string, total: number]>([
    ['q[n]=0', 1],
    ['q[n]=-0', 1],
    ['q[n]=0.0', 1],
    ['q[n]=0e-400', 1],
    ['q[n]=0.000e5', 1],
    ['q[n]=5e-324', 1],
    ['q[n][$gt]=0', 2],
    ['q[text]=1e-400', 1],
    ['q[text]="1e-400"', 1],
    ['q[n][$in]=[0,0e-400,-0.0]', 1],
    ['q[text][$in]=["1e-400","a\\"1e-400"]', 1],
  ])('is not %s', async (query, total) => {
    const { send } = createTestService(config, { documents })
    expect((await send(`GET /things/count?${query}`)).body).toEqual({ total })
  })
})

describe('a number in a body that is too close to zero to be told from it', () => {
  const stored = {
    collections: {
      things: {
        schema: { ...config.collections.things.schema, j: { type: 'json' } },
        permissions: { '*': true },
      },
    },
  } as const
  const many = `0.${'0'.repeat(250)}1e-99`

  test.each<[body: string, pointer: string]>([
    ['{"n":1e-400}', '/n'],
    ['{"n":-1E-400}', '/n'],
    ['{ "n" : 0.1e-999 }', '/n'],
    [`{"n":${many}}`, '/n'],
    [`{"n":0.${'0'.repeat(400)}1}`, '/n'],
    ['{"i":1e-400}', '/i'],
    ['{"text":"1e-400\\"1e-400","list":[0,1e-400,0e-400]}', '/list/1'],
    ['{"j":{"deep":[{"a":1e-400}]}}', '/j/deep/0/a'],
  ])('is a fault where it stands: %s', async (text, pointer) => {
    const { send } = createTestService(stored)
    const { _id } = (await send('POST /things', { body: {} })).body
    const inside = text.trim()
    for (const [line, body, at] of [
      ['POST /things', text, ''],
      [`PATCH /things/${_id}`, text, ''],
      [`PUT /things/${_id}`, text, ''],
      ['POST /things/bulk', `{"documents":[${inside}]}`, '/documents/0'],
      [
        'POST /_batch',
        `{"operations":[{"method":"POST","path":"/things","body":${inside}}]}`,
        '/operations/0/body',
      ],
    ] as const) {
      const sent = await send(line, { raw: body })
      expect([line, sent.status, faultsOf(sent)]).toEqual([
        line,
        400,
        { [at + pointer]: 'number_out_of_range' },
      ])
    }
  })

  test('is no number in a text, nor one that is written as zero or can be told from it', async () => {
    const { send } = createTestService(stored)
    const raw = '{"n":5e-324,"i":0e-400,"list":[-0.0e-999,1E-323],"text":"1e-400","j":{"1e-400":"\\\\"}}'
    const { status, body } = await send('POST /things', { raw })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      n: 5e-324,
      i: 0,
      list: [0, 1e-323],
      text: '1e-400',
      j: { '1e-400': '\\' },
    })
  })
})
