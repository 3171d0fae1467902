/** What `run.mjs` runs in a project of its own: the examples of live lists, over a service in this process. */
import { createCollectionService } from 'collection-service'
import { createClient } from 'collection-service/client'

const config = {
  collections: {
    notes: { changes: true, schema: { text: { type: 'string' } }, permissions: { '*': true } },
  },
}
const service = createCollectionService(config, undefined, { production: false, logger: { warn() {} } })
const client = createClient(service)
const notes = client.collection('notes')

const expect = (what, actual, expected) => {
  if (actual !== expected) throw new Error(`${what}: expected ${expected}, found ${actual}`)
}

/** Waits for what the test is about; the runner ends what never comes. */
async function until(what, holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
  console.log(what)
}

const EXAMPLES = {
  async react() {
    const { Window } = await import('happy-dom')
    const window = new Window()
    const { document, navigator } = window
    Object.assign(globalThis, { window, document, navigator })
    const { createElement } = await import('react')
    const { createRoot } = await import('react-dom/client')
    const { Notes } = await import('./react.tsx')
    const place = document.body.appendChild(document.createElement('div'))
    const root = createRoot(place)
    const first = await notes.create({ text: 'one' })
    root.render(createElement(Notes, { service: client }))
    await until('a list', () => place.innerHTML === '<ul><li>one</li></ul>')
    await notes.create({ text: 'two' })
    await until('what is new', () => place.innerHTML === '<ul><li>two</li><li>one</li></ul>')
    await notes.delete(first)
    await until('what is gone', () => place.innerHTML === '<ul><li>two</li></ul>')
    root.unmount()
  },
  async 'tanstack-db'() {
    const { createNotes } = await import('./tanstack-db.ts')
    const first = await notes.create({ text: 'one' })
    const held = createNotes(client)
    await held.preload()
    expect('a document that was there', held.get(first._id)?.text, 'one')
    await notes.update(first, { text: 'changed' })
    await until('a change', () => held.get(first._id)?.text === 'changed')
    const _id = crypto.randomUUID()
    await held.insert({ _id, text: 'mine' }).isPersisted.promise
    expect('what was inserted', (await notes.get(_id)).text, 'mine')
    await held.update(_id, (draft) => {
      draft.text = 'still mine'
    }).isPersisted.promise
    expect('what was updated', (await notes.get(_id)).text, 'still mine')
    await until('it is held as it is stored', () => held.get(_id)?.createdAt !== undefined)
    await held.delete(_id).isPersisted.promise
    await until('a delete', () => held.size === 1)
    const refused = held.insert({ _id: 'not a uuid', text: 'x' }).isPersisted.promise
    expect('a refusal', await refused.catch((thrown) => thrown.status), 404)
    expect('it is taken back', held.size, 1)
    await held.cleanup()
  },
}

await EXAMPLES[process.argv[2]]()
await service.close()
