import { describe, expect, test } from 'vitest'
import { useStorages } from '../support/storages.js'
import { openStored } from '../support/stored.js'

// CONTRACT.md §3.2: `$in` has every document with one of its values, however many an earlier query had.

const config = {
  collections: {
    things: {
      schema: { code: { type: 'integer', unique: true } },
      permissions: { '*': { read: true } },
    },
  },
  limits: { maxLimit: 1000, values: 1000 },
} as const

const COUNT = 300

describe.each(useStorages())('in %s', (_, create) => {
  test.each(['', '&sort[code]=1', '&sort[code]=-1', '&sort[_id]=-1'])(
    'a list of more values than the last one has all of its documents%s',
    async (sort) => {
      const things = Array.from({ length: COUNT }, (_, code) => ({ code }))
      const { handler, send } = await openStored(config, { things }, { adapter: create() })
      for (const length of [70, 130, 260]) {
        const values = JSON.stringify(Array.from({ length }, (_, i) => i))
        const { status, body } = await send(`GET /things?q[code][$in]=${values}&limit=${COUNT}${sort}`)
        expect(status).toBe(200)
        expect(body).toHaveLength(length)
        const counted = await send(`GET /things/count?q[code][$in]=${values}`)
        expect(counted.body).toEqual({ total: length })
      }
      await handler.close()
    },
  )
})
