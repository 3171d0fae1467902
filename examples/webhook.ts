// Tells another server of every change of an article, signed as Standard Webhooks (standardwebhooks.com) wants it. What
// that server does not take is sent again, later and later, for 7 days; meanwhile other articles go on. To run it:
// WEBHOOK_URL=https://example.com/hook WEBHOOK_SECRET=whsec_… PORT=3000 npx tsx webhook.ts
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter, defineConfig } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'

const { PORT, WEBHOOK_URL = 'http://localhost:8080', WEBHOOK_SECRET = '' } = process.env

const config = defineConfig({
  collections: {
    articles: {
      changes: true,
      schema: { title: { type: 'string', required: true }, notes: { type: 'string' } },
      permissions: { '*': { read: { omit: ['notes'] }, create: true, update: true, delete: true } },
    },
  },
  limits: { maxLimit: 100 },
})

const [, secret] = /^whsec_(.+)$/.exec(WEBHOOK_SECRET) ?? []
if (secret === undefined) throw new Error('WEBHOOK_SECRET must be whsec_ and base64')
const key = Buffer.from(secret, 'base64')

/** Sends a message. A receiver that has seen its id before can leave it: one whose answer was lost comes again. */
async function send(id: string, message: object, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify(message)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const answer = await fetch(WEBHOOK_URL, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body,
    redirect: 'manual',
    // A server that does not answer must not take one of the ten places for good.
    signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]),
  })
  await answer.body?.cancel()
  if (!answer.ok) throw new Error(`the webhook was answered with ${answer.status}`)
}

export const service = createCollectionService(config, createMemoryAdapter(), {
  consumers: {
    webhook: {
      collections: ['articles'],
      async handle({ operation, before, after, time }, { id, signal }) {
        const document = operation === 'delete' ? before : after
        // A consumer sees whole documents: what others may know is said here.
        const data = { _id: document._id, title: document.title }
        await send(id, { type: `article.${operation}d`, timestamp: time, data }, signal)
      },
    },
  },
})

if (PORT !== undefined) createServer(toNodeHandler(service)).listen(Number(PORT))
