import {
  createCollectionService,
  type Deliver,
  type HookChange,
  type HookResult,
  type ServiceOptions,
  type StorageAdapter,
} from 'collection-service'
import { createClient } from 'collection-service/client'
import config from './config.json' with { type: 'json' }

export type SendMail = (to: string, subject: string, text: string) => Promise<void>
type Hook = (change: HookChange) => Promise<HookResult>

/** The address of your pages, which mails link to. */
const site = process.env.SITE ?? 'http://localhost:8080'

/** Adds an entry to the audit log, in the step of the write. The actor is `createdBy` of the entry. */
const audited =
  (collection: string, hook: Hook = async () => ({})): Hook =>
  async (change) => {
    const { operation, before, after } = change
    const { set, also = [] } = await hook(change)
    const { _id: document, company } = after ?? before
    const written = after && { ...after, ...set }
    const body = { company, collection, document, operation, before, after: written }
    return { ...(set && { set }), also: [...also, { method: 'POST', path: '/audit', body, system: true }] }
  }

/** Reads the counter, which no caller may read. If another ticket is faster, the hook runs again. */
const numberTicket = audited('tickets', async ({ operation, after, api }) => {
  if (operation !== 'create') return {}
  const path = `/counters/${after.company}`
  const { last } = await createClient(api.system).collection('counters').get(String(after.company))
  const number = Number(last) + 1
  return { set: { number }, also: [{ method: 'PATCH', path, body: { last: number }, system: true }] }
})

/** Copies the creator of the ticket to the comment, for the rules. */
const nameCustomer = audited('comments', async ({ operation, after, api }) => {
  if (operation !== 'create') return {}
  const ticket = await createClient(api.system).collection('tickets').get(String(after.ticket))
  return { set: { customer: ticket.createdBy } }
})

/** Deletes the invitation that a new membership accepts. */
const useInvitation = audited('memberships', async ({ operation, after }) =>
  operation === 'create' && after.invitation
    ? { also: [{ method: 'DELETE', path: `/invitations/${after.invitation}`, system: true }] }
    : {},
)

export function createHelpDesk(adapter: StorageAdapter, sendMail: SendMail, options: ServiceOptions = {}) {
  const deliver: Deliver = async (delivery) => {
    const link = 'token' in delivery ? `${site}/${delivery.kind}#token=${delivery.token}` : site
    await sendMail(delivery.to, `Help desk: ${delivery.kind}`, link)
  }

  const service = createCollectionService(config, adapter, {
    ...options,
    deliver,
    hooks: {
      tickets: { fills: ['number'], before: numberTicket },
      comments: { fills: ['customer'], before: nameCustomer },
      memberships: { before: useInvitation },
      invitations: { before: audited('invitations') },
    },
    consumers: {
      invite: {
        collections: ['invitations'],
        async handle({ operation, after }) {
          if (operation !== 'create') return
          const [company] = await system.collection('companies').getMany([String(after.company)])
          const subject = `${company?.name} invites you`
          if (company) await sendMail(String(after.email), subject, `${site}/invitations`)
        },
      },
      answer: {
        collections: ['comments'],
        async handle({ before, after, by }) {
          if (!after || after.isInternal || before?.isInternal === false || by === after.customer) return
          // Reads as the customer: what the customer may no longer read is not mailed.
          const id = String(after.customer)
          const customer = createClient(service.as({ id }))
          const [comment] = await customer.collection('comments').getMany([after._id])
          if (!comment) return
          const { number, title } = await customer.collection('tickets').get(String(comment.ticket))
          const { email } = await customer.collection('users').get(id)
          await sendMail(String(email), `#${number} ${title}`, String(comment.text))
        },
      },
    },
  })

  const system = createClient(service.system())

  /** Opens a company, and invites its first agent. */
  const openCompany = async (name: string, email: string): Promise<string> => {
    const id = crypto.randomUUID()
    await system.batch((b) => [
      b.companies.create({ name }, { id }),
      b.counters.create({}, { id }),
      b.invitations.create({ company: id, email, role: 'agent' }),
    ])
    return id
  }
  return { service, openCompany }
}
