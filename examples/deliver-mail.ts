// Hands tokens to the owners of accounts by mail, to verify an address, to choose a new password; and welcomes them. To
// run it: SMTP_URL=smtp://user:password@mail.example.com:587 PORT=3000 npx tsx deliver-mail.ts
import { createServer } from 'node:http'
import { createCollectionService, type Deliver, type Delivery } from 'collection-service'
import { createWorkerHasher, toNodeHandler } from 'collection-service/node'
import { createTransport } from 'nodemailer'
import config from './config.json' with { type: 'json' }

const { PORT, SMTP_URL = 'smtp://localhost:1025', SITE = 'http://localhost:8080' } = process.env

const transport = createTransport(SMTP_URL)

/** A page of yours that asks for the password, and then the service. What follows `#` a browser sends to nobody. */
const link = (page: string, token: string): string => `${SITE}/${page}#token=${token}`

/**
 * The letters. Nothing in them was written by the one who asked, as a name is: else anyone could make this server send
 * what they like to whom they like.
 */
function write(delivery: Delivery): readonly [subject: string, text: string] {
  switch (delivery.kind) {
    case 'verification':
      return [
        'Is this your address?',
        `Then confirm it, with your password: ${link('verify', delivery.token)}`,
      ]
    case 'already-registered':
      return ['You have an account', `Somebody, perhaps you, tried to open another: ${SITE}/login`]
    case 'reset':
      return ['A new password', `If you asked for it, choose one: ${link('reset', delivery.token)}`]
    case 'new-identifier':
      return ['Your new address', `Confirm it, with your password: ${link('verify', delivery.token)}`]
    case 'identifier-changing':
      return [
        'Your address will change',
        `Somebody who knows your password asked for it. Not you? ${SITE}/reset`,
      ]
  }
}

/** Waits until the mail server has the letter: what it refuses is in the log of the service. */
async function send(to: string, [subject, text]: readonly [subject: string, text: string]): Promise<void> {
  await transport.sendMail({ from: 'Articles <articles@example.com>', to, subject, text })
}

export const deliver: Deliver = (delivery) => send(delivery.to, write(delivery))

// Until its address is verified nobody has an account, and no answer tells whether somebody has one.
const service = createCollectionService(
  {
    ...config,
    collections: { ...config.collections, users: { ...config.collections.users, changes: true } },
    auth: { ...config.auth, requireVerified: true },
  },
  undefined,
  {
    deliver,
    hasher: createWorkerHasher(),
    consumers: {
      // What it throws is tried again, in this process or the next one: now and then a letter goes out twice.
      welcome: {
        collections: ['users'],
        async handle({ before, after }) {
          const isNew = after?.verifiedAt !== undefined && before?.verifiedAt === undefined
          if (isNew) await send(String(after.email), ['Welcome', `Your first article: ${SITE}/new`])
        },
      },
    },
  },
)

if (PORT !== undefined) createServer(toNodeHandler(service)).listen(Number(PORT))
