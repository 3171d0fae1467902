/**
 * A worker that answers for services on the storages of Cloudflare: below /object, each in a Durable Object of its own;
 * below /d1, each on a database of its own. The module `cases` is put in by workerd.mjs.
 */

import { DurableObject, env } from 'cloudflare:workers'
import cases from 'cases'
import { createMemoryAdapter } from 'collection-service'
import { createD1Adapter } from 'collection-service/d1'
import { createDurableObjectAdapter } from 'collection-service/durable-object'
import { createTestHasher } from 'collection-service/testing'
import { answer, createCase } from './cases-in-worker.mjs'

// Cheap, because the cost of passwords is the same on every storage.
const more = { hasher: createTestHasher() }

// While this module loads, because only then an invalid configuration may be explained.
const errors = cases.map((one) => createCase(one, createMemoryAdapter()).error ?? null)
const onD1 = cases.map((one, place) => createCase(one, createD1Adapter(env[`D1_${place}`]), more))

/** The object of the case whose place is its name. */
export class Store extends DurableObject {
  constructor(context, bindings) {
    super(context, bindings)
    this.service = createCase(
      cases[Number(context.id.name)],
      createDurableObjectAdapter(context.storage),
      more,
    )
  }

  async fetch(request) {
    return answer(this.service, await request.json())
  }
}

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/services')) return Response.json(errors)
    const envelope = await request.clone().json()
    if (pathname.startsWith('/d1')) return answer(onD1[envelope.service], envelope)
    return env.STORE.get(env.STORE.idFromName(String(envelope.service))).fetch(request)
  },
}
