import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readExample } from './proxies/deployment.mjs'
import { throughProxy } from './proxies/through-proxy.mjs'

const PROGRAM = '/usr/sbin/nginx'

/** The name and the version. */
const readVersion = () => {
  // It is printed to stderr.
  const [, version] =
    /nginx\/(\S+)/.exec(execFileSync('sh', ['-c', `${PROGRAM} -v 2>&1`], { encoding: 'utf8' })) ?? []
  return `nginx ${version}`
}

/** Writes a complete configuration around the one of the example, for a process without a system's folders. */
async function configure({ folder, port, ports, certificates }) {
  const example = await readExample('nginx.conf', {
    'listen 443': `listen 127.0.0.1:${port}`,
    '127.0.0.1:3000': `127.0.0.1:${ports[0]}`,
    '127.0.0.1:3001': `127.0.0.1:${ports[1]}`,
    '/etc/ssl/collections.crt': certificates.certificate,
    '/etc/ssl/collections.key': certificates.key,
  })
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const lines = [
    'daemon off;',
    'worker_processes 1;',
    `pid ${folder}/pid;`,
    `error_log ${folder}/error.log;`,
    'events {}',
    'http {',
    'access_log off;',
    ...places.map((place) => `${place}_temp_path ${folder}/${place};`),
    example,
    '}',
  ]
  const file = join(folder, 'nginx.conf')
  await writeFile(file, lines.join('\n'))
  return ['-c', file, '-e', join(folder, 'error.log')]
}

export const operate = throughProxy({
  packages: ['nginx-light'],
  program: PROGRAM,
  readVersion,
  about: 'The configuration of `examples/deployment/nginx.conf`, before two processes over one SQLite file',
  configure,
})
