import { rm } from 'node:fs/promises'
import { createClient } from '../../../dist/client.js'
import { installPackages } from '../../cluster/packages.mjs'
import { findPort } from '../../cluster/start-pgbouncer.mjs'
import { CHECKS, config } from './checks.mjs'
import { CHECKS_OF_OPERATION } from './checks-of-operation.mjs'
import { createCertificate, createOpenFolder, startProgram, startService } from './deployment.mjs'

/** Runs one check: what it says, or why it failed. A check that takes longer than two minutes fails. */
async function run(check, { origin, service }) {
  const seen = []
  const signal = AbortSignal.timeout(120_000)
  const send = async (input, init) => {
    const response = await fetch(input, init)
    const { status, headers } = response
    seen.push({ status, tag: headers.get('etag'), coding: headers.get('content-encoding') })
    return response
  }
  const ask = (path, init) => send(origin + path, init)
  const client = createClient(origin, { headers: { 'accept-encoding': 'gzip' }, fetch: send })
  const late = new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the check took longer than two minutes')))
  })
  try {
    const said = await Promise.race([check(client, { ask, seen, signal, origin, service }), late])
    return { isRight: true, said, seen }
  } catch (thrown) {
    return { isRight: false, said: `${thrown.status ?? ''} ${thrown.message}`.trim(), seen }
  }
}

/** The answers of a check: statuses, whether one was compressed, and how its tags came. */
function describeAnswers(seen) {
  const statuses = [...new Set(seen.map(({ status }) => status))].join(', ')
  const tags = seen.flatMap(({ tag }) => (tag ? [tag.replace(/\w{32}/, '…')] : []))
  const codings = seen.flatMap(({ coding }) => coding ?? [])
  return [statuses, ...new Set(codings), ...new Set(tags.map((tag) => `\`${tag}\``))].join(' · ')
}

/**
 * The operation of a proxy: it installs Debian's `packages`, starts two processes of the command and, by its file of
 * `examples/deployment`, the proxy before them, and does all checks through it. `configure({ folder, port, ports,
 * certificates })` writes the configuration, and returns the arguments of the program.
 */
export const throughProxy =
  ({ packages, program, readVersion, about, configure }) =>
  async () => {
    installPackages(packages)
    // The certificate is signed by itself. `fetch` of Node takes no certificate of its own for one request.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    const folder = await createOpenFolder('proxy')
    const certificates = createCertificate(folder)
    const service = await startService(config)
    const port = await findPort()
    const args = await configure({ folder, port, ports: service.ports, certificates })
    const proxy = await startProgram(program, args, {
      port,
      env: { HOME: folder },
      log: process.env.PROXY_LOG ? (text) => process.stderr.write(text) : undefined,
    })
    const rows = []
    const checks = Object.entries(CHECKS).map(([what, check]) => [what, check])
    for (const [what, check] of Object.entries(CHECKS_OF_OPERATION))
      checks.push([what, (_, context) => check(context)])
    for (const [what, check] of checks) {
      const { isRight, said, seen } = await run(check, { origin: `https://localhost:${port}`, service })
      rows.push({ isRight, cells: [what, said, describeAnswers(seen)] })
    }
    await proxy.stop()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
    return { title: readVersion(), about, columns: ['check', 'result', 'answers'], rows }
  }
