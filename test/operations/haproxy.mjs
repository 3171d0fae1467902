import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readExample } from './proxies/deployment.mjs'
import { throughProxy } from './proxies/through-proxy.mjs'

const PROGRAM = '/usr/sbin/haproxy'

const readVersion = () => {
  const [, version] = /version (\S+)/.exec(execFileSync(PROGRAM, ['-v'], { encoding: 'utf8' })) ?? []
  return `haproxy ${version}`
}

async function configure({ folder, port, ports, certificates }) {
  const example = await readExample('haproxy.cfg', {
    'bind :443': `bind 127.0.0.1:${port}`,
    '127.0.0.1:3000': `127.0.0.1:${ports[0]}`,
    '127.0.0.1:3001': `127.0.0.1:${ports[1]}`,
    '/etc/haproxy/collections.pem': certificates.both,
  })
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, example)
  return ['-db', '-f', file]
}

export const operate = throughProxy({
  packages: ['haproxy'],
  program: PROGRAM,
  readVersion,
  about: 'The configuration of `examples/deployment/haproxy.cfg`, before two processes over one SQLite file',
  configure,
})
