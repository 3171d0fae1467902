/** Stands for the package where a runner of cases in node talks to services that live in a worker. */
const { WORKER_URL, WORKER_CASES } = process.env
/** Services that nobody has taken yet, by what made them. */
const free = new Map()
for (const [index, key] of JSON.parse(WORKER_CASES).entries()) {
  free.set(key, [...(free.get(key) ?? []), index])
}
const faults = await (await fetch(`${WORKER_URL}/services`)).json()

export const createMemoryAdapter = () => undefined

export function createCollectionService(config, _adapter, { logger: _, deliver, now, ...options }) {
  const service = free
    .get(JSON.stringify([config, options, deliver !== undefined, now !== undefined]))
    ?.shift()
  if (service === undefined) throw new Error('the worker has no such service')
  if (faults[service]) throw Object.assign(new Error(faults[service].message), { name: faults[service].name })
  const createHandler = (caller) => async (request) => {
    const bytes = Buffer.from(await request.arrayBuffer())
    const response = await fetch(`${WORKER_URL}/answer`, {
      method: 'POST',
      body: JSON.stringify({
        service,
        caller,
        now: now?.(),
        url: request.url,
        method: request.method,
        headers: [...request.headers],
        body: request.body === null ? null : bytes.toString('base64'),
      }),
    })
    const { status, headers, text, delivered, thrown } = await response.json()
    if (thrown !== undefined) throw new Error(thrown)
    for (const one of delivered) await deliver(one)
    return new Response(text === '' ? null : text, { status, headers })
  }
  return Object.assign(createHandler(undefined), {
    as: (caller) => createHandler(caller),
    close: async () => {},
  })
}
