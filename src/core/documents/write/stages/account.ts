import { createStamp } from '../../../accounts/auth/token.js'
import type { Attachment } from '../../../request/attachment.js'
import type { Stage } from '../draft.js'

/** Creates the stage of accounts: their sessions end with a new secret, and a new identifier is not verified. */
export const createAccountStage = (attachment: Attachment): Stage => ({
  name: 'account',
  judge(draft) {
    const { before, fields, unseen } = draft
    if (before) draft.fields = attachment.settle(before.stored, fields, unseen)
    return undefined
  },
  async settle(draft) {
    const { call, before, hashes } = draft
    if (!before) draft.stamp = createStamp()
    else Object.assign(draft, await attachment.takeWithUpdate(call, before.stored, hashes))
  },
})
