/** Random writes of what a list is made of, and of who may read it, by several loops in one process. */

const text = { type: 'string' }

/** Who watches sees the things of their teams, as of their memberships. */
export const config = {
  collections: {
    things: {
      changes: true,
      schema: { team: text, s: text, n: { type: 'integer' } },
      permissions: { user: { read: { where: { team: { $in: '$user.teams' } } } }, admin: true },
    },
    memberships: {
      schema: { user: { ...text, index: true }, team: text },
      permissions: { admin: true },
    },
  },
  auth: { claims: { teams: { from: 'memberships', where: { user: '$user._id' }, take: 'team' } } },
}

export const ADMIN = { id: 'admin', roles: ['admin'] }
export const WATCHER = { id: 'watcher' }

const pick = (values) => values[Math.floor(Math.random() * values.length)]

const drawThing = () => ({
  team: pick(['red', 'blue', 'green']),
  s: pick(['', 'a', 'B', 'é', '😀']),
  n: Math.floor(Math.random() * 5),
})

/** Makes one write. What was there when it was read may be gone by now. */
async function writeOne(send) {
  const name = Math.random() < 0.2 ? 'memberships' : 'things'
  const draw = () => (name === 'things' ? drawThing() : { user: 'watcher', team: drawThing().team })
  const listed = await send('GET', `/${name}?limit=30`)
  const one = pick(listed.body)
  const most = name === 'things' ? 25 : 4
  if (!one || (Math.random() < 0.6 && listed.body.length < most)) return send('POST', `/${name}`, draw())
  if (Math.random() < 0.4) return send('DELETE', `/${name}/${one._id}`)
  return send('PATCH', `/${name}/${one._id}`, draw())
}

/** Writes until each loop has made its share, and tells of each write. `send` asks as an admin. */
export async function writeLive(send, { loops, share }, print) {
  const loop = async () => {
    for (let made = 0; made < share; made++) {
      const { status } = await writeOne(send)
      await print(`made ${status}`)
    }
  }
  await Promise.all(Array.from({ length: loops }, loop))
}
