// Keeps what each invoice was and became, and which caller changed it, in a collection that nobody changes. A consumer may be told of a change
// twice: its id is a unique field, so that the second entry is refused. To run it: npx tsx audit.ts
import { createCollectionService, createMemoryAdapter, defineConfig } from 'collection-service'
import { createClient, isClientError } from 'collection-service/client'

const config = defineConfig({
  collections: {
    invoices: {
      changes: true,
      schema: { total: { type: 'number', required: true }, isPaid: { type: 'boolean', default: false } },
      permissions: { clerk: { read: true, create: true, update: true, delete: true } },
    },
    audit: {
      schema: {
        change: { type: 'string', unique: true, required: true },
        operation: { type: 'string', enum: ['create', 'update', 'delete'], required: true },
        invoice: { type: 'string', index: true, required: true },
        at: { type: 'timestamp', required: true },
        by: { type: 'string', index: true },
        before: { type: 'json' },
        after: { type: 'json' },
      },
      permissions: { auditor: { read: true }, scribe: { create: true } },
    },
  },
})

export const service = createCollectionService(config, createMemoryAdapter(), {
  consumers: {
    audit: {
      collections: ['invoices'],
      async handle({ operation, before, after, time, by }, { id }) {
        const entry = {
          change: id,
          operation,
          at: time,
          invoice: operation === 'delete' ? before._id : after._id,
          ...(by === null ? {} : { by }),
          ...(before && { before }),
          ...(after && { after }),
        }
        await entries.create(entry).catch((thrown: unknown) => {
          const isThere = isClientError(thrown) && thrown.code === 'unique_violation'
          if (!isThere) throw thrown
        })
      },
    },
  },
  // The host's own accounts: here everyone is a clerk.
  authenticate: () => ({ id: 'ann', roles: ['clerk'] }),
})

const entries = createClient<typeof config>(service.as({ id: 'scribe', roles: ['scribe'] })).collection(
  'audit',
)
