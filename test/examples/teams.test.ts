import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { readStream } from '../support/event-streams.js'
import type { Sent } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { actAs, COLLECTIONS, idOf, openTeams, PEOPLE } from './support/teams.js'

/**
 * What `examples/teams` lets whom do. Ann is the admin of Red, Max a member, Gil a guest; Bob is the admin of Blue,
 * where Max is a guest. Eve is invited to Red as a guest; Zoe has an account, and no more.
 */

const [RED, BLUE] = [idOf('teams', 'Red'), idOf('teams', 'Blue')]
const [GARDEN, FEAST, BOAT] = ['Garden', 'Secret feast', 'Boat'].map((title) => idOf('projects', title))
const [SEEDS, DIG, PAINT] = ['Buy seeds', 'Dig', 'Paint'].map((title) => idOf('tasks', title))
const [TOMATOES, DRAFT, OF_BLUE] = ['Tomatoes!', 'Or rather', 'Blue, of course'].map((text) =>
  idOf('comments', text),
)
const [ANN, MAX, GIL, BOB] = ['Ann', 'Max', 'Gil', 'Bob'].map((name) => idOf('memberships', name))
const [OF_MAX, OF_GIL, OF_EVE] = ['max', 'gil', 'eve'].map((name) =>
  idOf('invitations', `${name}@example.com`),
)

type Act = (line: string, body?: object) => Promise<Sent>
type Cast = { readonly [name in 'ann' | 'max' | 'gil' | 'bob' | 'eve' | 'zoe' | 'nobody']: Act } & {
  tick(): void
}

const statusOf = async (asked: Promise<Sent>): Promise<number> => (await asked).status
const values = async (asked: Promise<Sent>, field: string): Promise<readonly unknown[]> => {
  const { status, body } = await asked
  expect(status, JSON.stringify(body)).toBe(200)
  return body.map((document: { [name: string]: unknown }) => document[field])
}
const titles = (act: Act, path: string) => values(act(`GET ${path}`), 'title')
const batch = (act: Act, ...operations: readonly (readonly [line: string, body?: object])[]): Promise<Sent> =>
  act('POST /_batch', {
    operations: operations.map(([line, body]) => {
      const [method, path] = line.split(' ')
      return { method, path, ...(method === 'PUT' ? { ifNoneMatch: '*' } : {}), ...(body ? { body } : {}) }
    }),
  })

const NEW = '0190163d-8694-7000-8000-00000000ffff'
const founding = (body: object): readonly (readonly [string, object])[] => [
  [`PUT /teams/${NEW}`, { name: 'New' }],
  ['POST /memberships', { team: NEW, role: 'admin', name: 'First', ...body }],
]
const joining = { team: RED, role: 'guest', name: 'Eve', invitation: OF_EVE }
/** Lets Eve accept her invitation. */
const join = async ({ eve }: Cast) => (await eve('POST /memberships', joining)).body._id as string
/** Makes Gil, who wrote a draft as a member, a guest again; what he wrote. */
async function demoteGil({ ann, gil }: Cast): Promise<{ readonly project: string; readonly task: string }> {
  const turn = (role: string) =>
    batch(ann, [`PATCH /memberships/${GIL}`, { role }], [`PATCH /invitations/${OF_GIL}`, { role }])
  expect(await statusOf(turn('member'))).toBe(200)
  const project = await gil('POST /projects', { team: RED, title: 'My plan' })
  const task = await gil('POST /tasks', { team: RED, project: GARDEN, title: 'Mine' })
  expect(await statusOf(turn('guest'))).toBe(200)
  return { project: project.body._id, task: task.body._id }
}
const asBothAdmin = async ({ bob, max }: Cast) => {
  const invitation = idOf('invitations', BLUE)
  const membership = idOf('memberships', 'Max of Red')
  const promoted = [
    [`PATCH /memberships/${membership}`, { role: 'admin' }],
    [`PATCH /invitations/${invitation}`, { role: 'admin' }],
  ] as const
  expect(await statusOf(batch(bob, ...promoted))).toBe(200)
  return max
}

const SENTENCES: readonly (readonly [sentence: string, holds: (cast: Cast) => Promise<void>])[] = [
  [
    'a stranger sees nothing at all',
    async ({ nobody }) => {
      for (const name of COLLECTIONS) expect(await statusOf(nobody(`GET /${name}`))).toBe(401)
      expect(await statusOf(nobody(`GET /projects/${GARDEN}`))).toBe(401)
    },
  ],
  [
    'everyone with an account sees the names of teams',
    async ({ zoe }) => {
      expect(await values(zoe('GET /teams'), 'name')).toEqual(['Red', 'Blue'])
    },
  ],
  [
    'and nothing else of them',
    async ({ zoe }) => {
      for (const name of COLLECTIONS.filter((one) => one !== 'teams' && one !== 'users'))
        expect([name, (await zoe(`GET /${name}`)).body, (await zoe(`GET /${name}/count`)).body]).toEqual([
          name,
          [],
          { total: 0 },
        ])
    },
  ],
  [
    'nobody sees the accounts of others',
    async ({ ann }) => {
      expect(await values(ann('GET /users'), 'email')).toEqual(['ann@example.com'])
      expect(await statusOf(ann(`GET /users/${PEOPLE.max?.id}`))).toBe(404)
    },
  ],

  [
    'who founds a team becomes its first admin in the same batch',
    async ({ zoe }) => {
      expect(await statusOf(batch(zoe, ...founding({})))).toBe(200)
      expect(await statusOf(zoe('POST /projects', { team: NEW, title: 'First' }))).toBe(201)
      expect(
        await statusOf(zoe('POST /invitations', { team: NEW, email: 'max@example.com', role: 'member' })),
      ).toBe(201)
    },
  ],
  [
    'and cannot become it later',
    async ({ zoe, tick }) => {
      expect(await statusOf(zoe(`PUT /teams/${NEW}`, { name: 'New' }))).toBe(404)
      const { body } = await zoe('POST /teams', { name: 'New' })
      tick()
      expect(await statusOf(zoe('POST /memberships', { team: body._id, role: 'admin', name: 'Zoe' }))).toBe(
        403,
      )
    },
  ],
  [
    'a founder becomes admin, and nothing less',
    async ({ zoe }) => {
      expect((await batch(zoe, ...founding({ role: 'guest' }))).body).toMatchObject({
        status: 403,
        operation: 1,
      })
    },
  ],
  [
    'a founder brings nobody else in',
    async ({ zoe }) => {
      const { body } = await batch(zoe, ...founding({ user: PEOPLE.max?.id }))
      expect(body.results[1].body.user).toBe(PEOPLE.zoe?.id)
    },
  ],
  [
    'nobody becomes the admin of a team that others have founded',
    async ({ zoe, max }) => {
      for (const act of [zoe, max]) {
        expect(await statusOf(act('POST /memberships', { team: BLUE, role: 'admin', name: 'Me' }))).toBe(403)
        expect((await batch(act, ...founding({ team: BLUE }))).body).toMatchObject({
          status: 403,
          operation: 1,
        })
      }
    },
  ],
  [
    'an admin renames the team; members, guests and the admins of others do not',
    async ({ ann, max, gil, bob }) => {
      expect(await statusOf(ann(`PATCH /teams/${RED}`, { name: 'Crimson' }))).toBe(200)
      for (const act of [max, gil, bob])
        expect(await statusOf(act(`PATCH /teams/${RED}`, { name: 'Mine' }))).toBe(403)
    },
  ],
  [
    'an admin deletes the team, with all that is in it',
    async ({ ann, max, bob }) => {
      for (const act of [max, bob]) expect(await statusOf(act(`DELETE /teams/${RED}`))).toBe(403)
      expect(await statusOf(ann(`DELETE /teams/${RED}`))).toBe(204)
      expect(await titles(max, '/projects')).toEqual(['Boat'])
      expect(await values(max('GET /memberships'), 'team')).toEqual([BLUE])
      expect((await ann('GET /invitations')).body).toEqual([])
    },
  ],

  [
    'an admin invites by e-mail address; members, guests and the admins of others do not',
    async ({ ann, max, gil, bob }) => {
      const invitation = { team: RED, email: 'Zoe@Example.com', role: 'member' }
      for (const act of [max, gil, bob])
        expect(await statusOf(act('POST /invitations', invitation))).toBe(403)
      expect((await ann('POST /invitations', invitation)).body).toMatchObject({ email: 'zoe@example.com' })
    },
  ],
  [
    'nobody is invited twice',
    async ({ ann }) => {
      expect(
        await statusOf(ann('POST /invitations', { team: RED, email: 'eve@example.com', role: 'admin' })),
      ).toBe(409)
    },
  ],
  [
    'who is invited sees the invitation, and others do not',
    async ({ eve, max, zoe, bob }) => {
      expect(await values(eve('GET /invitations'), '_id')).toEqual([OF_EVE])
      for (const act of [max, zoe, bob]) expect(await statusOf(act(`GET /invitations/${OF_EVE}`))).toBe(404)
    },
  ],
  [
    'who is invited accepts, and belongs to the team',
    async (cast) => {
      expect(await titles(cast.eve, '/projects')).toEqual([])
      await join(cast)
      expect(await titles(cast.eve, '/projects')).toEqual(['Garden'])
    },
  ],
  [
    'as what they were invited as, and as nothing more',
    async ({ eve }) => {
      for (const role of ['member', 'admin']) {
        const { status, body } = await eve('POST /memberships', { ...joining, role })
        expect([status, body.errors?.[0].path]).toEqual([400, '/invitation'])
      }
    },
  ],
  [
    'into the team that invited them, and into no other',
    async ({ eve }) => {
      expect(await statusOf(eve('POST /memberships', { ...joining, team: BLUE }))).toBe(400)
    },
  ],
  [
    'nobody uses an invitation of another',
    async ({ zoe, bob }) => {
      for (const act of [zoe, bob]) expect(await statusOf(act('POST /memberships', joining))).toBe(400)
    },
  ],
  [
    'nobody joins without one',
    async ({ eve }) => {
      expect(await statusOf(eve('POST /memberships', { team: RED, role: 'guest', name: 'Eve' }))).toBe(403)
    },
  ],
  [
    'an invitation serves once at a time',
    async (cast) => {
      await join(cast)
      expect(await statusOf(cast.eve('POST /memberships', joining))).toBe(409)
    },
  ],
  [
    'who is invited may decline',
    async ({ eve }) => {
      expect(await statusOf(eve(`DELETE /invitations/${OF_EVE}`))).toBe(204)
      expect(await statusOf(eve('POST /memberships', joining))).toBe(400)
    },
  ],
  [
    'the role of an invitation is not the invited’s to change',
    async ({ eve }) => {
      expect(await statusOf(eve(`PATCH /invitations/${OF_EVE}`, { role: 'admin' }))).toBe(403)
    },
  ],
  [
    'who takes an invitation back, expels',
    async (cast) => {
      const membership = await join(cast)
      expect(await statusOf(cast.ann(`DELETE /memberships/${membership}`))).toBe(403)
      expect(await statusOf(cast.ann(`DELETE /invitations/${OF_EVE}`))).toBe(204)
      expect(await titles(cast.eve, '/projects')).toEqual([])
      expect(await statusOf(cast.eve('POST /memberships', joining))).toBe(400)
    },
  ],
  [
    'an admin changes a role together with its invitation, and not one of both',
    async ({ ann, max }) => {
      const both = [
        [`PATCH /memberships/${MAX}`, { role: 'guest' }],
        [`PATCH /invitations/${OF_MAX}`, { role: 'guest' }],
      ] as const
      expect([400, 409]).toContain(await statusOf(ann(...both[0])))
      expect(await statusOf(ann(...both[1]))).toBe(409)
      expect(await statusOf(batch(ann, ...both))).toBe(200)
      expect(await titles(max, '/tasks')).toEqual([])
    },
  ],

  [
    'who works in a team sees who belongs to it; a guest sees only themselves',
    async ({ max, gil }) => {
      expect(await values(max(`GET /memberships?q[team]=${RED}`), 'name')).toEqual(['Ann', 'Max', 'Gil'])
      expect(await values(gil('GET /memberships'), 'name')).toEqual(['Gil'])
    },
  ],
  [
    'nobody promotes themselves',
    async ({ max, gil }) => {
      for (const [act, id] of [
        [max, MAX],
        [gil, GIL],
      ] as const) {
        const { headers, body } = await act(`PATCH /memberships/${id}`, { role: 'admin', name: 'Boss' })
        expect([headers.get('ignored-properties'), body.name]).toEqual(['"role"', 'Boss'])
        expect(body.role).not.toBe('admin')
      }
    },
  ],
  [
    'nobody renames another',
    async ({ ann, max }) => {
      expect(await statusOf(max(`PATCH /memberships/${ANN}`, { name: 'Fool' }))).toBe(403)
      expect((await ann(`PATCH /memberships/${MAX}`, { name: 'Fool' })).body.name).toBe('Max')
    },
  ],
  [
    'the admin of one team is nothing in another',
    async ({ bob }) => {
      for (const path of [
        `/memberships/${MAX}`,
        `/projects/${GARDEN}`,
        `/tasks/${SEEDS}`,
        `/comments/${TOMATOES}`,
      ])
        expect([path, await statusOf(bob(`DELETE ${path}`)), await statusOf(bob(`GET ${path}`))]).toEqual([
          path,
          404,
          404,
        ])
    },
  ],
  [
    'everyone may leave, and then sees nothing more',
    async ({ max }) => {
      expect(await statusOf(max(`DELETE /memberships/${MAX}`))).toBe(204)
      expect(await titles(max, '/projects')).toEqual(['Boat'])
      expect(await statusOf(max(`GET /projects/${FEAST}`))).toBe(404)
      expect(await statusOf(max(`PATCH /comments/${TOMATOES}`, { text: 'x' }))).toBe(404)
    },
  ],
  [
    'with an account go its memberships',
    async ({ ann, max }) => {
      expect(await statusOf(max(`DELETE /users/${PEOPLE.max?.id}`))).toBe(204)
      expect(await values(ann('GET /memberships'), 'name')).toEqual(['Ann', 'Gil'])
    },
  ],

  [
    'a guest reads projects, and no drafts of others',
    async ({ gil }) => {
      expect(await titles(gil, '/projects')).toEqual(['Garden'])
      expect(await statusOf(gil(`GET /projects/${FEAST}`))).toBe(404)
      expect((await gil('GET /projects/count?q[status]=draft')).body).toEqual({ total: 0 })
    },
  ],
  [
    'a member reads them',
    async ({ max }) => {
      expect(await titles(max, '/projects')).toEqual(['Garden', 'Secret feast', 'Boat'])
    },
  ],
  [
    'a guest who was a member still reads their own',
    async (cast) => {
      await demoteGil(cast)
      expect(await titles(cast.gil, '/projects')).toEqual(['Garden', 'My plan'])
    },
  ],
  [
    'and changes them no more',
    async (cast) => {
      const { project, task } = await demoteGil(cast)
      expect(await statusOf(cast.gil(`PATCH /projects/${project}`, { title: 'x' }))).toBe(403)
      expect(await statusOf(cast.gil(`DELETE /projects/${project}`))).toBe(403)
      expect(await statusOf(cast.gil(`DELETE /tasks/${task}`))).toBe(404)
    },
  ],
  [
    'members create projects in their teams, guests do not',
    async ({ max, gil }) => {
      expect(await statusOf(max('POST /projects', { team: RED, title: 'Pond' }))).toBe(201)
      expect(await statusOf(max('POST /projects', { team: BLUE, title: 'Pond' }))).toBe(403)
      expect(await statusOf(gil('POST /projects', { team: RED, title: 'Pond' }))).toBe(403)
    },
  ],
  [
    'members change their own projects, admins all of the team',
    async ({ ann, max }) => {
      expect(await statusOf(max(`PATCH /projects/${FEAST}`, { status: 'open' }))).toBe(200)
      expect(await statusOf(max(`PATCH /projects/${GARDEN}`, { status: 'done' }))).toBe(403)
      expect(await statusOf(ann(`PATCH /projects/${FEAST}`, { status: 'done' }))).toBe(200)
    },
  ],
  [
    'members delete their own drafts, and what is open no more',
    async ({ max }) => {
      await max(`PATCH /projects/${FEAST}`, { status: 'open' })
      expect(await statusOf(max(`DELETE /projects/${FEAST}`))).toBe(403)
      await max(`PATCH /projects/${FEAST}`, { status: 'draft' })
      expect(await statusOf(max(`DELETE /projects/${FEAST}`))).toBe(204)
    },
  ],
  [
    'nobody moves a project to a team that they do not lead',
    async ({ ann, max, bob }) => {
      expect(await statusOf(ann(`PATCH /projects/${GARDEN}`, { team: BLUE }))).toBe(403)
      expect((await ann(`GET /projects/${GARDEN}`)).body.team).toBe(RED)
      expect((await max(`PATCH /projects/${FEAST}`, { team: BLUE })).body.team).toBe(RED)
      expect(await statusOf(bob(`PATCH /projects/${GARDEN}`, { team: BLUE }))).toBe(404)
    },
  ],
  [
    'who leads both moves it with its tasks, and not without',
    async (cast) => {
      const max = await asBothAdmin(cast)
      const [boat, paint] = [
        [`PATCH /projects/${BOAT}`, { team: RED }],
        [`PATCH /tasks/${PAINT}`, { team: RED }],
      ] as const
      // What was said stays where it was said.
      await cast.bob(`DELETE /comments/${OF_BLUE}`)
      expect(await statusOf(max(...boat))).toBe(403)
      const ann = [
        [`PATCH /memberships/${MAX}`, { role: 'admin' }],
        [`PATCH /invitations/${OF_MAX}`, { role: 'admin' }],
      ] as const
      expect(await statusOf(batch(cast.ann, ...ann))).toBe(200)
      expect(await statusOf(max(...boat))).toBe(409)
      expect(await statusOf(max(...paint))).toBe(400)
      expect(await statusOf(batch(max, boat, paint))).toBe(200)
      expect(await titles(cast.ann, '/tasks')).toEqual(['Buy seeds', 'Dig', 'Paint'])
    },
  ],

  [
    'who works in a team reads its tasks, guests do not',
    async ({ ann, max, gil }) => {
      for (const act of [ann, max]) expect(await titles(act, '/tasks')).toEqual(['Buy seeds', 'Dig'])
      expect(await titles(gil, '/tasks')).toEqual([])
    },
  ],
  [
    'a task and its project belong to one team',
    async (cast) => {
      const max = await asBothAdmin(cast)
      for (const [team, project] of [
        [RED, BOAT],
        [BLUE, GARDEN],
      ]) {
        const { status, body } = await max('POST /tasks', { team, project, title: 'Between' })
        expect([status, body.errors?.[0].path]).toEqual([400, '/project'])
      }
      expect(await statusOf(max(`PATCH /tasks/${DIG}`, { project: BOAT }))).toBe(400)
      expect(await statusOf(max(`PATCH /tasks/${DIG}`, { project: BOAT, team: BLUE }))).toBe(200)
    },
  ],
  [
    'a task is given to somebody of the team',
    async ({ ann, max }) => {
      expect(await statusOf(max(`PATCH /tasks/${DIG}`, { assignee: GIL }))).toBe(200)
      for (const assignee of [BOB, idOf('memberships', 'Max of Red')])
        expect(await statusOf(ann(`PATCH /tasks/${DIG}`, { assignee }))).toBe(400)
    },
  ],
  [
    'and is nobody’s once they have left',
    async ({ ann, max }) => {
      await max(`DELETE /memberships/${MAX}`)
      const { body } = await ann(`GET /tasks/${SEEDS}`)
      expect([body.title, body.assignee]).toEqual(['Buy seeds', undefined])
    },
  ],
  [
    'members delete their own tasks, admins all of the team',
    async ({ ann, max }) => {
      expect(await statusOf(max(`DELETE /tasks/${SEEDS}`))).toBe(403)
      expect(await statusOf(max(`DELETE /tasks/${DIG}`))).toBe(204)
      expect(await statusOf(ann(`DELETE /tasks/${SEEDS}`))).toBe(204)
    },
  ],
  [
    'expand shows what one may read, and nothing else',
    async ({ max, gil }) => {
      const { body } = await max('GET /memberships?q[name]=Gil&expand=["user","team","invitation"]')
      expect([body[0].user, body[0].team.name, body[0].invitation]).toEqual([PEOPLE.gil?.id, 'Red', OF_GIL])
      const own = await gil('GET /memberships?expand=["user","invitation"]')
      expect([own.body[0].user.email, own.body[0].invitation.role]).toEqual(['gil@example.com', 'guest'])
    },
  ],

  [
    'a draft of a comment is for its writer alone',
    async ({ ann, max }) => {
      expect(await values(max('GET /comments'), 'text')).toEqual(['Tomatoes!', 'Or rather'])
      expect(await values(ann('GET /comments'), 'text')).toEqual(['Tomatoes!'])
      expect(await statusOf(ann(`DELETE /comments/${DRAFT}`))).toBe(404)
    },
  ],
  [
    'guests read and write no comments',
    async ({ gil }) => {
      expect((await gil('GET /comments')).body).toEqual([])
      expect(await statusOf(gil('POST /comments', { team: RED, task: SEEDS, text: 'Hi' }))).toBe(400)
    },
  ],
  [
    'a comment is under a task of its own team',
    async ({ max }) => {
      expect(await statusOf(max('POST /comments', { team: RED, task: DIG, text: 'Deep?' }))).toBe(201)
      expect(await statusOf(max('POST /comments', { team: RED, task: PAINT, text: 'Deep?' }))).toBe(400)
    },
  ],
  [
    'writers change what they said, admins only delete it',
    async ({ ann, max }) => {
      expect(await statusOf(ann(`PATCH /comments/${TOMATOES}`, { text: 'x' }))).toBe(403)
      expect(await statusOf(max(`PATCH /comments/${TOMATOES}`, { text: 'Beans!' }))).toBe(200)
      expect(await statusOf(ann(`DELETE /comments/${TOMATOES}`))).toBe(204)
    },
  ],
  [
    'with a task go its comments',
    async ({ ann, max }) => {
      await ann(`DELETE /tasks/${SEEDS}`)
      expect((await max('GET /comments')).body).toEqual([])
    },
  ],
]

describe.each(useStorages())('on %s', (_, create) => {
  let service: Awaited<ReturnType<typeof openTeams>>
  beforeAll(async () => {
    service = await openTeams(create())
  })
  beforeEach(() => service.reset())
  afterAll(() => service.handler.close())

  test.each(SENTENCES)('%s', (_, holds) => {
    const act = (name: string): Act => actAs(service, name)
    const [ann, max, gil, bob, eve, zoe, nobody] = ['ann', 'max', 'gil', 'bob', 'eve', 'zoe', 'nobody'].map(
      act,
    ) as [Act, Act, Act, Act, Act, Act, Act]
    return holds({ ann, max, gil, bob, eve, zoe, nobody, tick: service.tick })
  })
})

test('who becomes a member follows the tasks, and who is none any more follows them no longer', async () => {
  const service = await openTeams(createMemoryAdapter())
  await service.reset()
  const [ann, max] = [actAs(service, 'ann'), actAs(service, 'max')]
  const handler = service.handler.as(PEOPLE.gil ?? null)
  const stream = readStream(await handler(new Request('http://service.test/tasks/changes')))
  await stream.until(1)
  const turn = (role: string) =>
    batch(ann, [`PATCH /memberships/${GIL}`, { role }], [`PATCH /invitations/${OF_GIL}`, { role }])
  const begun = await max('POST /tasks', { team: RED, project: GARDEN, title: 'Before' })
  await turn('member')
  await stream.until(2)
  await max(`PATCH /tasks/${begun.body._id}`, { title: 'Between' })
  await stream.until(3)
  await turn('guest')
  await stream.until(4)
  await max(`PATCH /tasks/${begun.body._id}`, { title: 'After' })
  await turn('member')
  const events = await stream.until(5)
  expect(events.map(({ event, data }) => [event, data.title])).toEqual([
    ['reset', undefined],
    ['reset', undefined],
    ['change', 'Between'],
    ['reset', undefined],
    ['reset', undefined],
  ])
  await service.handler.close()
})
