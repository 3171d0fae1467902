import { createCollection } from '@tanstack/db'
import { type Client, createClient } from 'collection-service/client'

interface Note {
  readonly _id: string
  readonly text?: string
}

/**
 * A collection of TanStack DB that holds what this caller may read, and follows it. What is inserted, updated and
 * deleted shows at once, is sent, and is taken back where the service refuses it.
 */
export function createNotes(client: Client = createClient('/api')) {
  const notes = client.collection('notes')
  /** Puts a document into the collection, or takes one out. Set while it follows the service. */
  let apply = (_change: { readonly _id: string; readonly document?: Note }): void => {}
  const put = (document: object): void => apply({ _id: (document as Note)._id, document: document as Note })
  return createCollection<Note, string>({
    id: 'notes',
    getKey: ({ _id }) => _id,
    sync: {
      // Documents come whole.
      rowUpdateMode: 'full',
      sync({ collection, begin, write, commit, truncate, markReady }) {
        const controller = new AbortController()
        apply = ({ _id, document }) => {
          begin()
          if (document) write({ type: collection.has(_id) ? 'update' : 'insert', value: document })
          else if (collection.has(_id)) write({ type: 'delete', key: _id })
          commit()
        }
        const follow = async () => {
          for await (const change of notes.changes({ signal: controller.signal })) {
            if (change.event === 'leave') apply(change)
            else if (change.event !== 'reset') put(change.document)
            else {
              const list = (await notes.list()) as readonly object[]
              begin()
              truncate()
              for (const value of list) write({ type: 'insert', value: value as Note })
              commit()
              markReady()
            }
          }
        }
        follow().catch(console.error)
        return () => controller.abort()
      },
    },
    async onInsert({ transaction }) {
      for (const { modified } of transaction.mutations) {
        const { _id, ...body } = modified
        put(await notes.create(body as never, { id: _id }))
      }
    },
    async onUpdate({ transaction }) {
      for (const { key, changes } of transaction.mutations) put(await notes.update(key, changes as never))
    },
    async onDelete({ transaction }) {
      for (const { key } of transaction.mutations) {
        await notes.delete(key)
        apply({ _id: key })
      }
    },
  })
}
