import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf } from '../support/service.js'

// CONTRACT.md §3.1

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
