import type { createCollectionService, StorageAdapter, StoredDocument } from '../../../src/index.js'
import { createMemoryAdapter } from '../../../src/index.js'
import { createTestService, type TestService } from '../service.js'
import { fieldsOf } from '../stored.js'
import type { SmallAnswer } from './judge.js'
import {
  COLLECTIONS,
  type Json,
  NOW,
  type SmallCaller,
  type SmallConfig,
  type SmallRequest,
  STORED_ID,
} from './universe.js'

/** Asks the handler itself what the judge says: one document in memory, one request. */

const METHODS = { read: 'GET', create: 'POST', patch: 'PATCH', put: 'PUT', delete: 'DELETE' } as const

const FREE_OF_TIME = (): number => Date.parse(NOW)

/** Puts one question after another to a handler; what one leaves behind is gone before the next. */
export interface SmallHandler {
  ask(caller: SmallCaller | null, document: Json, request: SmallRequest): Promise<SmallAnswer>
  close(): Promise<void>
}

export async function createSmallHandler(
  config: SmallConfig,
  options: {
    readonly create?: typeof createCollectionService
    /** Whether documents are asked about that this configuration would not store. */
    readonly holdsOthers?: boolean
  } = {},
): Promise<SmallHandler> {
  const adapter = createMemoryAdapter()
  const service = createTestService(
    { ...config },
    {
      adapter,
      now: FREE_OF_TIME,
      authenticate: () => null,
      ...options,
    },
  )
  await service.handler.ready()
  return {
    ask: (caller, document, request) => askOnce(service, adapter, { caller, document, request }),
    close: () => service.handler.close(),
  }
}

interface Question {
  readonly caller: SmallCaller | null
  readonly document: Json
  readonly request: SmallRequest
}

async function askOnce(
  service: TestService,
  adapter: StorageAdapter,
  { caller, document, request: { collection, operation, body } }: Question,
): Promise<SmallAnswer> {
  await clear(adapter)
  if (operation !== 'create') {
    const insert = { _version: 1, ...document } as unknown as StoredDocument
    await adapter.write([{ in: collection, insert }], {})
  }
  const id = String(document._id ?? STORED_ID)
  const path = operation === 'create' ? '' : `/${encodeURIComponent(id)}`
  const sent = await service.send(`${METHODS[operation]} /${collection}${path}`, {
    caller,
    ...(body ? { body } : {}),
  })
  const created: string | undefined = operation === 'create' ? sent.body?._id : id
  const stored = created === undefined ? {} : await fieldsOf(service, collection, created)
  const isStored = created !== undefined && (operation !== 'delete' || sent.status !== 204)
  const isRefused = sent.status >= 400
  const { _id: _, ...shown } = sent.body ?? {}
  return {
    status: sent.status,
    ...(isRefused ? { code: sent.body.code } : {}),
    errors: (sent.body?.errors ?? []).map((fault: Json) => `${fault.path} ${fault.code}`).sort(),
    ...(isRefused || sent.body === undefined ? {} : { shown }),
    stored: isStored ? stored : null,
    ignored: readIgnored(sent.headers.get('ignored-properties')),
  }
}

const readIgnored = (header: string | null): readonly string[] => JSON.parse(`[${header ?? ''}]`)

async function clear(adapter: StorageAdapter): Promise<void> {
  await adapter.write(
    COLLECTIONS.map((name) => ({ in: name, remove: { kind: 'and', filters: [] } as const })),
    {},
  )
}
