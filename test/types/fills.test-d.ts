import { expectTypeOf } from 'vitest'
import imported from '../../examples/config.json' with { type: 'json' }
import { type CreateBodyOf, createClient, type DocumentOf } from '../../src/client/client.js'
import {
  type CollectionHooks,
  type CollectionService,
  createCollectionService,
  createMemoryAdapter,
  defineConfig,
  type HookChange,
} from '../../src/index.js'
import { describeApi } from '../../src/tools/insight/index.js'
import { expectAllowed } from '../../src/tools/testing/index.js'

const config = defineConfig({
  collections: {
    tickets: {
      schema: {
        title: { type: 'string', required: true },
        number: { type: 'integer', required: true },
        kind: { type: 'string', enum: ['plain', 'odd'], required: true },
        note: { type: 'string' },
        state: { type: 'string', default: 'open' },
      },
    },
    posts: { schema: { title: { type: 'string', required: true }, note: { type: 'string' } } },
  },
})
type Config = typeof config
type Ticket = DocumentOf<Config, 'tickets'>

const service = createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    tickets: {
      fills: ['number', 'kind'],
      async before(change) {
        expectTypeOf(change).toEqualTypeOf<HookChange<Config, 'tickets', 'number' | 'kind'>>()
        const { operation, before, after } = change
        if (operation === 'create') {
          expectTypeOf(after.number).toEqualTypeOf<number | undefined>()
          expectTypeOf(after.kind).toEqualTypeOf<'plain' | 'odd' | undefined>()
          expectTypeOf(after.title).toEqualTypeOf<string>()
          expectTypeOf(after.state).toEqualTypeOf<string>()
        }
        if (operation === 'update') expectTypeOf([before, after]).toEqualTypeOf<Ticket[]>()
        if (operation === 'delete') expectTypeOf(before.number).toEqualTypeOf<number>()
        return { set: { number: 1, kind: 'odd' } }
      },
    },
    // A hook that fills nothing sees whole documents.
    posts: {
      before({ operation, after }) {
        if (operation === 'create') expectTypeOf(after).toEqualTypeOf<DocumentOf<Config, 'posts'>>()
      },
    },
  },
})

// The client of a service need not give what its hooks fill, but may.
const tickets = createClient(service).collection('tickets')
tickets.create({ title: 'A' })
tickets.create({ title: 'A', number: 1, kind: 'odd' })
tickets.createMany([{ title: 'A' }])
// @ts-expect-error
tickets.create({ title: 'A', number: 'one' })
// @ts-expect-error
tickets.create({ number: 1 })
expectTypeOf(tickets.create({ title: 'A' })).resolves.toEqualTypeOf<Ticket>()
createClient(service).batch((b) => [b.tickets.create({ title: 'A' })])
createClient(service.as(null)).collection('tickets').create({ title: 'A' })

// Elsewhere the type of the service says it.
createClient<typeof service>('https://example.com/api').collection('tickets').create({ title: 'A' })
expectTypeOf<DocumentOf<typeof service, 'tickets'>>().toEqualTypeOf<Ticket>()
const body: CreateBodyOf<typeof service, 'tickets'> = { title: 'A' }
tickets.create(body)
// @ts-expect-error
createClient<Config>('https://example.com/api').collection('tickets').create({ title: 'A' })
expectTypeOf(createClient<typeof service>('').collection).parameter(0).toEqualTypeOf<'tickets' | 'posts'>()

// Where nothing is filled, the type of the service is that of its configuration.
expectTypeOf(
  createCollectionService(config, createMemoryAdapter(), { hooks: { posts: { before: () => undefined } } }),
).toEqualTypeOf<CollectionService<Config>>()
expectTypeOf(createCollectionService(config, createMemoryAdapter(), {})).toEqualTypeOf<
  CollectionService<Config>
>()

// A hook of its own says what it fills.
const numbering: CollectionHooks<Config, 'tickets', 'number'> = {
  fills: ['number'],
  before: ({ after }) => ({ set: { number: after?.number ?? 1 } }),
}
const numbered = createCollectionService(config, createMemoryAdapter(), { hooks: { tickets: numbering } })
createClient(numbered).collection('tickets').create({ title: 'A', kind: 'odd' })
// @ts-expect-error
createClient(numbered).collection('tickets').create({ title: 'A' })

createCollectionService(config, createMemoryAdapter(), {
  // @ts-expect-error
  hooks: { tickets: { fills: ['numbr'], before: () => undefined } },
})
createCollectionService(config, createMemoryAdapter(), {
  // @ts-expect-error
  hooks: { tickets: { fills: ['note'], before: () => undefined } },
})
createCollectionService(config, createMemoryAdapter(), {
  // @ts-expect-error
  hooks: { tickets: { fills: ['number'] } },
})
createCollectionService(config, createMemoryAdapter(), {
  // @ts-expect-error
  hooks: { ticket: { fills: ['number'], before: () => undefined } },
})

// Elsewhere hooks may be of whatever configuration.
expectAllowed(config, null, 'POST', '/tickets', { hooks: { tickets: numbering } })
expectAllowed(config, null, 'POST', '/tickets', {
  hooks: {
    tickets: { fills: ['number'], before: ({ operation }) => ({ set: { number: operation.length } }) },
  },
})
describeApi(config, { hooks: { tickets: numbering } })
// @ts-expect-error
describeApi(config, { hooks: { tickets: { fills: ['number'] } } })

// A configuration whose type says nothing
const loose = createCollectionService(imported, createMemoryAdapter(), {
  hooks: { articles: { fills: ['title'], before: ({ after }) => ({ set: { title: after?.title ?? 'x' } }) } },
})
createClient(loose).collection('articles').create({})
