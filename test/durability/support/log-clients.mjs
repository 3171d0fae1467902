/** Random writes on a few documents of a logged collection, straight on an adapter, by several loops in one process. */

export const plans = [{ name: 'things', indexes: [], log: { omit: [], keep: 86_400_000 } }]

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

const by = (document) => document?.by ?? null

/** Draws a write of one to three documents, each of which has to be as it was read; new ones as in the service. */
async function draw(adapter, write) {
  const start = Math.floor(Math.random() * IDS.length)
  const ids = [...IDS, ...IDS].slice(start, start + 1 + Math.floor(Math.random() * 3))
  const steps = []
  const changes = []
  for (const id of ids) {
    const filter = { kind: 'eq', field: { path: '_id', type: 'string', each: false }, value: id }
    const [before] = await adapter.list('things', { filter, sort: [], skip: 0, limit: 1 })
    const isGone = before && Math.random() < 0.2
    const after = isGone
      ? undefined
      : {
          _id: id,
          _version: 1 + (before?._version ?? Math.floor(Math.random() * 2 ** 40)),
          by: write,
          text: 'x'.repeat(Math.random() * 300),
        }
    if (!before) steps.push({ in: 'things', insert: after })
    else if (after) steps.push({ in: 'things', replace: after, version: before._version })
    else
      steps.push(
        { in: 'things', require: id, version: before._version },
        { in: 'things', remove: filter, expect: 1 },
      )
    changes.push([id, by(before), by(after)])
  }
  return { steps, changes: changes.sort(([a], [b]) => (a < b ? -1 : 1)) }
}

/** A change as it is told: its document, who wrote it before, and who wrote it now. */
const tell = ({ id, before, after }) => [id, by(before), by(after)]

/** Follows the log from a position until `isOver`, and then to its end. Gives what it has read. */
export async function follow(adapter, start, isOver) {
  const read = []
  for (let position = start; ; ) {
    const isLast = isOver()
    const page = await adapter.changes(position, { limit: 50, wait: 20 })
    if (page.gap) throw new Error('there is a gap')
    read.push(...page.changes.map(tell))
    position = page.position
    if (isLast && page.changes.length === 0 && !page.more) return read
  }
}

/** Writes until each loop has made its share, and tells of each write before and after it. */
export async function writeLogged(adapter, { name, loops, share, start }, print) {
  await adapter.open(plans)
  let serial = 0
  let left = loops
  const loop = async () => {
    for (let done = 0; done < share; ) {
      const write = `${name}-${serial++}`
      const { steps, changes } = await draw(adapter, write)
      await print(`sent ${JSON.stringify([write, changes])}`)
      const { ok } = await adapter.write(steps, {})
      await print(`${ok ? 'made' : 'refused'} ${write}`)
      if (ok) done += 1
    }
    left -= 1
  }
  const reading = follow(adapter, start, () => left === 0)
  await Promise.all(Array.from({ length: loops }, loop))
  const read = await reading
  await adapter.close()
  return read
}
