import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installOnce } from '../../support/packed.mjs'

const SPEC = 'openapi-sampler@1.7.10'

/** What no schema says, or none that a sampler reads: rights by document, what is unique, and the bounds of times. */
const UNTOLD = ['forbidden', 'taken', 'too_small']

/**
 * Gives the references of a body the `_id` of a document, takes away those that have none, and gives mail addresses, whose
 * format (`idn-email`) the sampler does not know.
 */
function refer(body, { properties }, ids) {
  for (const [name, property] of Object.entries(properties)) {
    const branches = [property, ...(property.anyOf ?? [])]
    const target = branches.find((one) => one['x-collection'])?.['x-collection']
    if (name in body && branches.some(({ format }) => format === 'idn-email')) body[name] = 'ann@example.org'
    if (target && ids[target]) body[name] = ids[target]
    else if (target) delete body[name]
  }
}

/** Sends samples of the bodies of all collections; what the service has against them. `given` are ids by collection. */
export async function sampleBodies(services, given) {
  const require = createRequire(join(await installOnce(SPEC), 'node_modules', 'x.js'))
  const { sample } = require('openapi-sampler')
  let accepted = 0
  let isRight = true
  const refused = []
  for (const [service, { origin, headers, document }] of Object.entries(services)) {
    const ids = service === 'teams' ? given : {}
    const ask = async (method, path, body) => {
      const type = { 'content-type': 'application/json' }
      const sent = { method, headers: { ...headers, ...type }, body: JSON.stringify(body) }
      const response = await fetch(origin + path, sent)
      return { isDone: response.ok, answer: await response.json() }
    }
    const collections = Object.entries(document.paths).filter(
      ([path, { get }]) => get && document.paths[`${path}/{id}`],
    )
    for (const [path, { post }] of collections) {
      const { put, patch } = document.paths[`${path}/{id}`]
      for (const [method, operation] of Object.entries({ POST: post, PUT: put, PATCH: patch })) {
        if (!operation?.requestBody) continue
        const { $ref } = operation.requestBody.content['application/json'].schema
        const schema = document.components.schemas[$ref.split('/').at(-1)]
        const body = sample(schema, {}, document)
        refer(body, schema, ids)
        const name = path.slice(1)
        const { isDone, answer } = await ask(method, method === 'POST' ? path : `${path}/${ids[name]}`, body)
        if (method === 'POST') ids[name] ??= answer._id
        if (isDone) {
          accepted++
          continue
        }
        const { code, errors = [{ path: '', code }] } = answer
        isRight &&= errors.every((one) => UNTOLD.includes(one.code))
        const faults = errors.map((one) => `\`${one.code}\` ${one.path}`.trim())
        refused.push(`${service}: ${method} ${path}: ${faults.join(', ')}`)
      }
    }
  }
  const said = `${accepted} bodies are taken, with references to documents that are there and mail addresses`
  return { isRight, cells: [SPEC.replace('@', ' '), said, refused.join('; ')] }
}
