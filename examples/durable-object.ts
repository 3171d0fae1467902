// The service on Cloudflare, with a Durable Object for each tenant: requests to acme.example.com reach the object `acme`.
// The guide explains it: docs/cloudflare.md. To run it: npx wrangler dev --config wrangler.durable-object.json
import { createCollectionService } from 'collection-service'
import { createDurableObjectAdapter, type DurableObjectSql } from 'collection-service/durable-object'
import config from './config.json' with { type: 'json' }

/** The part of Workers that is used here; `npx wrangler types` writes all. */
interface DurableObjects<Id = unknown> {
  idFromName(name: string): Id
  get(id: Id): { fetch(request: Request): Promise<Response> }
}

/** Each name that is let through becomes an object with a database, so strangers must not choose it. */
const TENANTS: readonly string[] = ['acme', 'globex']

export class Tenant {
  readonly #service: (request: Request) => Promise<Response>

  // In the constructor: the objects of a class may share this module, and each has documents of its own.
  constructor({ storage }: { readonly storage: DurableObjectSql }) {
    this.#service = createCollectionService(config, createDurableObjectAdapter(storage), {
      // Failed logins are counted by the address of the client. Cloudflare sets this header itself.
      clientAddress: (request) => request.headers.get('cf-connecting-ip'),
    })
  }

  fetch(request: Request): Promise<Response> {
    return this.#service(request)
  }
}

export default {
  async fetch(request: Request, env: { readonly TENANTS: DurableObjects }): Promise<Response> {
    const [tenant = ''] = new URL(request.url).hostname.split('.')
    if (!TENANTS.includes(tenant)) return Response.json({ title: 'Not Found' }, { status: 404 })
    return env.TENANTS.get(env.TENANTS.idFromName(tenant)).fetch(request)
  },
}
