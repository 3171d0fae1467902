import { unverify } from '../../../accounts/account.js'
import { createStamp } from '../../../accounts/auth/token.js'
import { endByNewSecret } from '../../../accounts/end-sessions.js'
import type { AuthPlan } from '../../../config/plan.js'
import type { Stage } from '../draft.js'

/** Creates the stage of accounts: their sessions end with a new secret, and a new identifier is not verified. */
export const createAccountStage = (auth: AuthPlan): Stage => ({
  name: 'account',
  judge(draft) {
    const { before, fields, unseen } = draft
    if (before) draft.fields = unverify(auth, before.stored, fields, unseen)
    return undefined
  },
  async settle(draft) {
    const { call, before, hashes } = draft
    if (!before) draft.stamp = createStamp()
    else Object.assign(draft, await endByNewSecret(call, auth, before.stored, hashes))
  },
})
