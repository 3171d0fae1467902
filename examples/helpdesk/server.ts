// A help desk for several companies. To run it: PORT=3000 npx tsx server.ts
import { createServer } from 'node:http'
import { createMemoryAdapter } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import documents from './documents.json' with { type: 'json' }
import { createHelpDesk } from './help-desk.js'

// In place of a mail server: ../deliver-mail.ts has one.
const sendMail = async (to: string, subject: string, text: string) =>
  console.log(`to ${to}: ${subject}\n${text}`)

const { service } = createHelpDesk(createMemoryAdapter({ documents }), sendMail)
service.ready().then(() => createServer(toNodeHandler(service)).listen(Number(process.env.PORT ?? 3000)))
