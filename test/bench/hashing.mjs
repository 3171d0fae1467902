/** How long other requests take while 20 accounts are registered at cost 12, with each hasher. */
import { setTimeout as wait } from 'node:timers/promises'
import { createCollectionService } from '../../dist/index.js'
import { createWorkerHasher } from '../../dist/node.js'

const REGISTRATIONS = 20
const config = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
    },
    notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } },
  },
}

async function measure(name, options, target) {
  const handler = createCollectionService(config, undefined, options)
  await handler.ready()
  const registering = Promise.all(
    Array.from({ length: REGISTRATIONS }, (_, i) =>
      handler(
        new Request('http://localhost/auth/register', {
          method: 'POST',
          body: JSON.stringify({ email: `u${i}@example.com`, password: 'correct horse' }),
        }),
      ),
    ),
  )
  let isOver = false
  const over = registering.then((answers) => {
    isOver = true
    return answers.filter(({ status }) => status === 201).length
  })
  const times = []
  while (!isOver) {
    // From when the request was due: one that could not even begin has waited too.
    const due = performance.now() + 5
    await wait(5)
    await handler(new Request('http://localhost/notes'))
    times.push(performance.now() - due)
  }
  const registered = await over
  times.sort((a, b) => a - b)
  const at = (share) => Math.round(times[Math.floor(times.length * share)])
  console.log(
    `${name}: ${registered} registered; other requests p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (at most ${target})`,
  )
  await handler.close()
}

await measure('in process ', {}, 250)
await measure('two threads', { hasher: createWorkerHasher() }, 25)
