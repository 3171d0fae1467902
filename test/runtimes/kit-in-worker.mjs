/** A worker that runs the kit of adapters, a test for each request, on the storages of Cloudflare: put in by workerd-kit.mjs. */
import { DurableObject } from 'cloudflare:workers'
import { createD1Adapter } from 'collection-service/d1'
import { createDurableObjectAdapter } from 'collection-service/durable-object'
import { testAdapter } from 'collection-service/testing'

/** The tests of the kit over a storage, by name. */
function collect(createStorage) {
  const tests = []
  const fuzz = { stores: 10, queries: 50, seed: 1 }
  testAdapter({ test: (name, run) => void tests.push([name, run]), createStorage, fuzz })
  return tests
}

async function answer(tests, place) {
  const [name, run] = tests[place] ?? []
  if (!run) return Response.json({ count: tests.length })
  try {
    await run()
    return Response.json({ name })
  } catch (error) {
    return Response.json({ name, failure: String(error?.stack ?? error) })
  }
}

const placeOf = (request) => Number(new URL(request.url).searchParams.get('place') ?? -1)

export class Store extends DurableObject {
  fetch(request) {
    const { storage } = this.ctx
    const createStorage = async () => {
      const adapter = createDurableObjectAdapter(storage)
      return { connect: () => adapter, destroy: () => storage.deleteAll() }
    }
    return answer(collect(createStorage), placeOf(request))
  }
}

const TABLES =
  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'"

export default {
  fetch(request, { STORE, D1 }) {
    const place = placeOf(request)
    if (new URL(request.url).pathname === '/object')
      return STORE.get(STORE.idFromName(String(place))).fetch(request)
    const createStorage = async () => ({
      connect: () => createD1Adapter(D1),
      async destroy() {
        const { results } = await D1.prepare(TABLES).all()
        for (const { name } of results) await D1.prepare(`DROP TABLE "${name}"`).run()
      },
    })
    return answer(collect(createStorage), place)
  },
}
