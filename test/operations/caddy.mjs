import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readExample } from './proxies/deployment.mjs'
import { throughProxy } from './proxies/through-proxy.mjs'

const PROGRAM = '/usr/bin/caddy'

const readVersion = () => `caddy ${execFileSync(PROGRAM, ['version'], { encoding: 'utf8' }).trim()}`

/** Writes the example with this machine's address, and a certificate of its own instead of a public one. */
async function configure({ folder, port, ports, certificates }) {
  const example = await readExample('Caddyfile', {
    'api.example.com {': `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${certificates.certificate} ${certificates.key}`,
    '127.0.0.1:3000': `127.0.0.1:${ports[0]}`,
    '127.0.0.1:3001': `127.0.0.1:${ports[1]}`,
  })
  const file = join(folder, 'Caddyfile')
  await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${example}`)
  return ['run', '--config', file, '--adapter', 'caddyfile']
}

export const operate = throughProxy({
  packages: ['caddy'],
  program: PROGRAM,
  readVersion,
  about: 'The configuration of `examples/deployment/Caddyfile`, before two processes over one SQLite file',
  configure,
})
