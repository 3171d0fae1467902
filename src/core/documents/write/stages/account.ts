import type { Attachment } from '../../../request/attachment.js'
import type { Draft, Stage } from '../draft.js'

/** Creates the stage of accounts: their sessions end with a new secret, and a new identifier is not verified. */
export const createAccountStage = (attachment: Attachment): Stage => ({
  name: 'account',
  judge(draft) {
    const { before, fields, unseen } = draft
    if (before) draft.fields = attachment.settle(before.stored, fields, unseen)
    return undefined
  },
  settle(draft) {
    if (draft.before) return takeWithUpdate(attachment, draft, draft.before.stored)
    draft.stamp = attachment.createStamp()
    return undefined
  },
})

async function takeWithUpdate(
  attachment: Attachment,
  draft: Draft,
  stored: NonNullable<Draft['before']>['stored'],
): Promise<void> {
  const { stamp, steps, after } = await attachment.takeWithUpdate(draft.call, stored, draft.hashes)
  draft.stamp = stamp
  draft.steps = steps
  draft.after = after
}
