import { describe, expect, test } from 'vitest'
import { MIB, scale, useSmallerBounds } from '../support/bounds.js'
import { told } from '../support/event-streams.js'
import { useStorages } from '../support/storages.js'
import { ADMIN, config, useStreams } from './support/changes.js'

// CONTRACT.md §9, "Events", "Standing", "The log", §2, "Paths and methods"

const serve = useStreams()

describe.each(useStorages())('in %s', (_, create) => {
  test('a stream begins with a reset, and tells what changes in the list that its caller sees', async () => {
    const { open, write, send } = await serve({ adapter: create() })
    const stream = await open('/notes/changes?q[text][$ne]="b"')
    const { _id } = await write('POST /notes', { text: 'a', status: 'open', secret: 's' })
    const seen = { _id, text: 'a', status: 'open' }
    await write(`PATCH /notes/${_id}`, { secret: 't' })
    await write(`PATCH /notes/${_id}`, { text: 'c' })
    await write(`PATCH /notes/${_id}`, { text: 'b' })
    await write(`PATCH /notes/${_id}`, { text: 'd' })
    await write(`PATCH /notes/${_id}`, { status: 'closed' })
    await write(`PATCH /notes/${_id}`, { secret: 'u' })
    await write(`PATCH /notes/${_id}`, { status: 'open' })
    await write(`DELETE /notes/${_id}`)
    expect(told(await stream.until(8))).toEqual([
      ['reset', {}],
      ['enter', seen],
      ['change', { ...seen, text: 'c' }],
      ['leave', { _id }],
      ['enter', { ...seen, text: 'd' }],
      ['leave', { _id }],
      ['enter', { ...seen, text: 'd' }],
      ['leave', { _id }],
    ])
    expect((await send('GET /notes')).body).toEqual([])
  })

  test('an event holds what the list shows: with the fields of whom it is for, and projected', async () => {
    const { open, write } = await serve({ adapter: create() })
    const [whole, part] = [
      await open('/notes/changes', { caller: { id: 'e', roles: ['editor'] } }),
      await open('/notes/changes?project=["secret"]', { caller: ADMIN }),
    ]
    const made = await write('POST /notes', { text: 'a', secret: 's', team: 't' })
    await write(`PATCH /notes/${made._id}`, { text: 'b' })
    const { secret: _, ...shown } = made
    expect(told(await whole.until(3))).toEqual([
      ['reset', {}],
      ['enter', shown],
      ['change', { ...shown, text: 'b', updatedAt: expect.any(String) }],
    ])
    expect(told(part.events)).toEqual([
      ['reset', {}],
      ['enter', { _id: made._id, secret: 's' }],
    ])
  })

  test('of one write a document has one event, in the order of _id', async () => {
    const { open, write } = await serve({ adapter: create() })
    const stream = await open('/notes/changes', { caller: ADMIN })
    const one = await write('POST /notes', { text: 'a' })
    const path = `/notes/${one._id}`
    await write('POST /_batch', {
      operations: [
        { method: 'POST', path: '/notes', body: { text: 'new' } },
        { method: 'PATCH', path, body: { text: 'b' } },
        { method: 'PATCH', path, body: { text: 'c' } },
        { method: 'POST', path: '/plain', body: { text: 'not told' } },
      ],
    })
    const events = told(await stream.until(4)).map(([name, data]) => [name, (data as { text?: string }).text])
    expect(events).toEqual([
      ['reset', undefined],
      ['enter', 'a'],
      ['change', 'c'],
      ['enter', 'new'],
    ])
  })

  describe('in smaller sizes,', () => {
    useSmallerBounds()

    test('who reads is told of all that comes at once, however much it is', async () => {
      const limits = { bulk: 500, bodyBytes: 4 * MIB }
      const { open, write } = await serve({ adapter: create(), config: { ...config, limits } })
      const stream = await open('/notes/changes', { caller: ADMIN })
      const documents = Array.from({ length: 500 }, () => ({ text: 'x'.repeat(scale(6000)) }))
      await write('POST /notes/bulk', { documents })
      const events = await stream.until(501)
      expect(events.filter(({ event }) => event === 'enter')).toHaveLength(500)
    })
  })

  test('subscribers with equal rights and queries get the same bytes', async () => {
    const { open, write } = await serve({ adapter: create() })
    const [one, other] = [
      await open('/notes/changes', { caller: { id: 'a', roles: ['editor'] } }),
      await open('/notes/changes', { caller: { id: 'a', roles: ['editor', 'unknown'] } }),
    ]
    const stranger = await open('/notes/changes', { caller: { id: 'b', roles: ['editor'] } })
    await write('POST /notes', { text: 'a' })
    const all = [one, other, stranger]
    for (const stream of all) await stream.until(2)
    const texts = all.map(({ text }) => text.slice(text.indexOf('\n\n')))
    expect(texts[1]).toBe(texts[0])
    // Where owner counts, each caller has a list of their own.
    expect(texts[2]).not.toBe(texts[0])
  })

  test('a role that changes gives a reset, and so do the values that rules use; nothing else does', async () => {
    const { open, write, register } = await serve({ adapter: create() })
    const { token, id } = await register({ name: 'ann', pin: 'secret' })
    const stream = await open('/notes/changes', { token })
    await write(`PATCH /users/${id}`, { note: 'x' })
    await write(`PATCH /users/${id}`, { team: 'unused' })
    await write(`PATCH /users/${id}`, { role: 'none' })
    const { _id } = await write('POST /notes', { text: 'hidden', team: 'red' })
    expect(told(stream.events)).toEqual([['reset', {}]])
    await write(`PATCH /users/${id}`, { role: 'member', team: 'red' })
    await write(`PATCH /users/${id}`, { note: 'y' })
    await write(`PATCH /notes/${_id}`, { text: 'seen' })
    await write(`PATCH /users/${id}`, { team: 'blue' })
    await write(`PATCH /notes/${_id}`, { text: 'unseen' })
    expect(told(await stream.until(4))).toEqual([
      ['reset', {}],
      ['reset', {}],
      ['change', { _id, text: 'seen', team: 'red' }],
      ['reset', {}],
    ])
  })

  test('rights and documents that change in one write give a reset alone', async () => {
    const { open, write, register } = await serve({ adapter: create() })
    const { token, id } = await register({ name: 'ann', pin: 'secret' })
    const { _id } = await write('POST /notes', { text: 'a', status: 'open' })
    const stream = await open('/notes/changes', { token })
    await write('POST /_batch', {
      operations: [
        { method: 'PATCH', path: `/notes/${_id}`, body: { text: 'b' } },
        { method: 'PATCH', path: `/users/${id}`, body: { role: 'editor' } },
      ],
    })
    await write(`PATCH /notes/${_id}`, { status: 'closed' })
    expect(told(await stream.until(3)).map(([name]) => name)).toEqual(['reset', 'reset', 'change'])
  })

  test('a session that is over ends its stream', async () => {
    const { open, write, register, send } = await serve({ adapter: create() })
    const ann = await register({ name: 'ann', pin: 'secret' })
    const bob = await register({ name: 'bob', pin: 'secret' })
    const [left, gone] = [
      await open('/notes/changes', { token: ann.token }),
      await open('/notes/changes', { token: bob.token }),
    ]
    await send('POST /auth/logout', { token: ann.token })
    await write(`DELETE /users/${bob.id}`)
    await gone.ended
    await write('POST /notes', { text: 'a', status: 'open' })
    await left.ended
    for (const { events } of [left, gone]) {
      expect(told(events)).toEqual([
        ['reset', {}],
        ['end', {}],
      ])
      expect(events[1]?.id).toBeUndefined()
    }
  })

  test('a list or a query that is now refused ends the stream', async () => {
    const { collections } = config
    const { open, write, register } = await serve({
      adapter: create(),
      config: {
        ...config,
        collections: {
          ...collections,
          notes: {
            ...collections.notes,
            permissions: { member: { read: { pick: ['text'] } }, editor: { read: true }, admin: true },
          },
        },
      },
    })
    const [ann, bob] = [
      await register({ name: 'ann', pin: 'secret' }),
      await register({ name: 'bob', pin: 'secret' }),
    ]
    for (const { id } of [ann, bob]) await write(`PATCH /users/${id}`, { role: 'editor' })
    const [list, query] = [
      await open('/notes/changes', { token: ann.token }),
      await open('/notes/changes?q[secret]="s"', { token: bob.token }),
    ]
    await write(`PATCH /users/${ann.id}`, { role: 'none' })
    await write(`PATCH /users/${bob.id}`, { role: 'member' })
    await Promise.all([list.ended, query.ended])
    for (const { events } of [list, query]) expect(events.map(({ event }) => event)).toEqual(['reset', 'end'])
  })
})
