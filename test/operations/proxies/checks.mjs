import assert from 'node:assert/strict'

/** What is served. */
export const config = {
  collections: {
    notes: {
      changes: true,
      schema: { title: { type: 'string' }, text: { type: 'string' } },
      permissions: { '*': { create: true, read: true, update: true, delete: true } },
    },
    users: {
      schema: {
        email: { type: 'string', required: true, unique: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
      permissions: {},
    },
  },
  auth: { cost: 10, register: true },
}

/** Over 1 kB: from there on, what compresses does. */
const LONG = 'a text that is long enough '.repeat(60)

const isFailed = { status: 412, code: 'precondition_failed' }

/** What is done through a proxy, by the typed client; each gives what it has found, and throws where that is wrong. */
export const CHECKS = {
  async 'create, get, update of what was read'(client) {
    const notes = client.collection('notes')
    const created = await notes.create({ title: 'One', text: LONG })
    const updated = await notes.update(await notes.get(created), { title: 'Two' })
    await assert.rejects(notes.update(created, { title: 'Three' }), isFailed)
    assert.deepEqual(await notes.get(updated), updated)
    return 'the state that was read counts: an older one is a 412'
  },
  async 'replace, delete of what was read'(client) {
    const notes = client.collection('notes')
    const created = await notes.create({ title: 'One', text: LONG })
    const replaced = await notes.replace(created, { title: 'Two', text: LONG })
    await assert.rejects(notes.delete(created), isFailed)
    await notes.delete(replaced)
    return 'the same'
  },
  async 'batch with `ifUnchanged`'(client) {
    const notes = client.collection('notes')
    const { _id } = await notes.create({ title: 'One', text: LONG })
    const read = await notes.get(_id)
    const write = () =>
      client.batch((b) => [
        b.notes.get(read, { ifUnchanged: true }),
        b.notes.create({ title: 'Two', text: LONG }),
      ])
    await write()
    await notes.update(_id, { title: 'Three' })
    await assert.rejects(write(), { ...isFailed, operation: 0 })
    return 'takes effect while nothing has changed'
  },
  async 'GET with the tag of an answer'(client, { ask, seen }) {
    const notes = client.collection('notes')
    const { _id } = await notes.create({ title: 'One', text: LONG })
    await notes.get(_id)
    const headers = { 'accept-encoding': 'gzip', 'if-none-match': seen.at(-1).tag }
    assert.equal((await ask(`/notes/${_id}`, { headers })).status, 304)
    await notes.update(_id, { title: 'Two' })
    assert.equal((await ask(`/notes/${_id}`, { headers })).status, 200)
    return '304, and 200 once it has changed'
  },
  async 'list with 95 ids in `$in`, page by page'(client) {
    const notes = client.collection('notes')
    const ids = []
    for (let i = 0; i < 95; i++) ids.push((await notes.create({ title: `${i}`, text: LONG }))._id)
    const found = []
    for await (const page of notes.pages({ q: { _id: { $in: ids } }, limit: 40 })) found.push(...page)
    assert.deepEqual(
      found.map(({ _id }) => _id),
      ids,
    )
    return '95 documents on 3 pages'
  },
  async 'list without a limit'(client) {
    const notes = client.collection('notes')
    const bodies = Array.from({ length: 100 }, (_, i) => ({ title: `${i}`, text: LONG }))
    for (let i = 0; i < 5; i++) await notes.createMany(bodies)
    assert.equal((await notes.list()).length, await notes.count())
    return 'comes whole'
  },
  async 'changes and live'(client, { signal }) {
    const notes = client.collection('notes')
    const title = `${Math.random()}`
    await notes.create({ title, text: LONG })
    const events = notes.changes({ q: { title }, signal })[Symbol.asyncIterator]()
    assert.deepEqual((await events.next()).value, { event: 'reset' })
    const lists = notes.live({ q: { title }, signal })[Symbol.asyncIterator]()
    assert.equal((await lists.next()).value.length, 1)
    await notes.create({ title, text: LONG })
    assert.equal((await lists.next()).value.length, 2)
    assert.equal((await events.next()).value.event, 'enter')
    return 'the first list and each event come at once'
  },
}
