import { createClient } from 'collection-service/client'
import { expect, test } from 'vitest'
import { createService } from '../../examples/counter.js'
import { useStorages } from '../support/storages.js'

// CONTRACT.md §9, "Before a write"

const MANY = 25

test.each(useStorages())(
  'in %s, the example of a counter numbers all who come at once',
  async (_, create) => {
    const service = createService(create())
    const client = createClient(service)
    const { posts, comments } = { posts: client.collection('posts'), comments: client.collection('comments') }
    const post = (await posts.create({ title: 'Hello' }))._id
    const texts = Array.from({ length: MANY }, (_, i) => `${i}`)
    const made = await Promise.all(texts.map((text) => comments.create({ post, text })))
    const numbers = made.map(({ number }) => Number(number)).sort((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: MANY }, (_, i) => i + 1))
    expect(await posts.get(post)).toMatchObject({ comments: MANY, lastNumber: MANY })
    await comments.delete(made[0]?._id ?? '')
    expect((await comments.create({ post, text: 'one more' })).number).toBe(MANY + 1)
    expect(await posts.get(post)).toMatchObject({ comments: MANY, lastNumber: MANY + 1 })
    await service.close()
  },
)
