import { expect } from 'vitest'
import { createMemoryAdapter, type Hasher, type ServiceOptions } from '../../../src/index.js'
import type { InsightOptions, PermissionDifference } from '../../../src/tools/insight/index.js'
import { createTestService } from '../service.js'

type Json = { readonly [name: string]: unknown }

const hasher: Hasher = { hash: async () => 'hashed', verify: async () => false }

/** Runs a counterexample against both handlers, under the names of each. They must not answer alike. */
export async function runWitness(
  pair: readonly [before: Json, after: Json],
  one: PermissionDifference,
  options: InsightOptions,
): Promise<void> {
  const { now, ...own } = one.witness
  const { callerAfter = own.caller, documentsAfter = own.documents, requestAfter = own.request } = own
  const after = { caller: callerAfter, documents: documentsAfter, request: requestAfter }
  const host: ServiceOptions = options.authenticate ? { authenticate: () => null } : { deliver() {} }
  const answers = pair.map(async (config, i) => {
    const { caller, documents, request } = i === 0 ? own : after
    const adapter = createMemoryAdapter({ documents })
    const service = createTestService(config, { ...host, adapter, hasher, now: () => Date.parse(now) })
    await service.handler.ready()
    const { method, path, body } = request
    const {
      status,
      headers,
      body: answered,
    } = await service.send(`${method} ${path}`, {
      caller,
      ...(body ? { body } : {}),
    })
    await service.handler.close()
    const { _id, ...shown } = answered ?? {}
    return { status, shown: status < 300 ? shown : shown.errors, ignored: headers.get('ignored-properties') }
  })
  const [was, is] = await Promise.all(answers)
  expect(was, JSON.stringify(one)).not.toEqual(is)
}
