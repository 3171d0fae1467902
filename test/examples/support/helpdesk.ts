import config from '../../../examples/helpdesk/config.json' with { type: 'json' }
import documents from '../../../examples/helpdesk/documents.json' with { type: 'json' }
import { createHelpDesk } from '../../../examples/helpdesk/help-desk.js'
import type { createCollectionService, ServiceOptions, StorageAdapter } from '../../../src/index.js'
import { openSeeded, peopleOf, type SeededService } from './seeded.js'

export { config as CONFIG, documents as DOCUMENTS }

export const COLLECTIONS = Object.keys(config.collections)

export const PEOPLE = peopleOf(documents)

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** A help desk over a storage, and the mails that it has sent. */
export async function openHelpDesk(
  adapter: StorageAdapter,
): Promise<
  SeededService & Pick<ReturnType<typeof createHelpDesk>, 'openCompany'> & { readonly mails: Mail[] }
> {
  const mails: Mail[] = []
  const sendMail = async (to: string, subject: string, text: string): Promise<void> =>
    void mails.push({ to, subject, text })
  let desk: ReturnType<typeof createHelpDesk> | undefined
  const create = ((_config: unknown, storage: StorageAdapter, options: ServiceOptions) => {
    desk = createHelpDesk(storage, sendMail, options)
    return desk.service
  }) as typeof createCollectionService
  const service = await openSeeded(adapter, { config, documents, create })
  if (!desk) throw new Error('no service was created')
  return { ...service, openCompany: desk.openCompany, mails }
}
