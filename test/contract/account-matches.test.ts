import { describe, expect, test } from 'vitest'
import type { HookResult } from '../../src/index.js'
import { faultsOf } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { outcomeOf } from './support/accounts.js'
import {
  ADMIN,
  ann,
  bob,
  configOf,
  createStage,
  PERMISSIONS,
  type Settings,
  storedUser,
} from './support/verified-accounts.js'

// CONTRACT.md §2, "Match"; §4, "Verification", "Changing the identifier"

const storages = useStorages()
const opened = closeAfterEach()

const BROKEN = [[400, 'validation_failed'], { '/card': 'unknown_reference' }]
/** The same for who may not know of the field. */
const UNNAMED = [[400, 'validation_failed'], { '': 'unknown_reference' }]

describe.each(storages)('what the routes of accounts write, in %s,', (_, create) => {
  /** A stage on which Ann is verified, and holds a card that agrees with her. */
  async function open(
    match: object,
    cardOf: (user: { readonly verifiedAt: string }) => object,
    more: Settings = {},
  ) {
    const { collections, auth } = configOf({
      schema: { card: { type: 'reference', collection: 'cards', match } },
      ...more,
    })
    const cards = {
      schema: { mail: { type: 'string' }, at: { type: 'timestamp' } },
      permissions: { admin: true },
    }
    const stage = createStage({ collections: { ...(collections as object), cards }, auth }, create())
    opened.push(stage.service)
    const { token, id } = await stage.register(ann)
    await stage.post('verify', { token: await stage.mail.token(), current: ann.password })
    const body = cardOf(await storedUser(stage, id))
    const card = (await stage.send('POST /cards', { caller: ADMIN, body })).body._id
    expect((await change(stage, id, { card })).status).toBe(200)
    return { ...stage, id, session: token }
  }
  const change = ({ send }: ReturnType<typeof createStage>, id: string, body: object) =>
    send(`PATCH /users/${id}`, { caller: ADMIN, body })
  const answered = (sent: Awaited<ReturnType<typeof change>>) => [outcomeOf(sent), faultsOf(sent)]

  const claim = { from: 'cards', where: { mail: '$user.email' }, take: 'mail' }

  test.each<[string, Settings]>([
    ['', {}],
    [
      ', under a claim',
      {
        permissions: {
          ...PERMISSIONS,
          '*': { read: { pick: ['name'], where: { name: { $in: '$user.mails' } } } },
        },
        auth: { claims: { mails: claim } },
      },
    ],
  ])('agrees with what the account refers to: a new identifier%s', async (_, more) => {
    const stage = await open({ email: 'mail' }, () => ({ mail: ann.email }), more)
    await stage.post('change-identifier', { current: ann.password, new: bob.email }, stage.session)
    const [, offer] = await stage.mail.take()
    const token = offer && 'token' in offer ? offer.token : ''
    const sent = await stage.post('verify', { token, current: ann.password })
    expect(answered(sent)).toEqual(UNNAMED)
    expect(answered(await change(stage, stage.id, { email: bob.email }))).toEqual(BROKEN)
    expect((await storedUser(stage, stage.id)).email).toBe(ann.email)
    expect((await change(stage, stage.id, { card: null })).status).toBe(200)
    expect((await stage.post('verify', { token, current: ann.password })).status).toBe(204)
  })

  test('agrees with what the account refers to: a verification that goes with the identifier', async () => {
    const stage = await open({ verifiedAt: 'at' }, ({ verifiedAt }) => ({ at: verifiedAt }))
    expect(answered(await change(stage, stage.id, { email: bob.email }))).toEqual(BROKEN)
    expect((await storedUser(stage, stage.id)).email).toBe(ann.email)
  })

  test('takes no value that is taken, and the token is not to blame for it', async () => {
    let set: HookResult = {}
    const stage = createStage(
      configOf({ schema: { handle: { type: 'string', unique: true } }, auth: { identifier: 'email' } }),
      create(),
      { hooks: { users: { before: () => set } } },
    )
    opened.push(stage.service)
    const { id } = await stage.register(bob)
    expect((await change(stage, id, { handle: 'h' })).status).toBe(200)
    await stage.mail.take()
    await stage.register(ann)
    const token = await stage.mail.token()
    set = { set: { handle: 'h' } }
    const sent = await stage.post('verify', { token, current: ann.password })
    expect(outcomeOf(sent)).toEqual([409, 'unique_violation'])
    set = {}
    expect((await stage.post('verify', { token, current: ann.password })).status).toBe(204)
  })
})
