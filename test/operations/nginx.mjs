import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPort, untilListening } from '../cluster/start-pgbouncer.mjs'
import { throughProxy } from './proxies/through-proxy.mjs'

const PROGRAM = '/usr/sbin/nginx'

/** The name and the version. */
const readVersion = () => {
  // It is printed to stderr.
  const [, version] =
    /nginx\/(\S+)/.exec(execFileSync('sh', ['-c', `${PROGRAM} -v 2>&1`], { encoding: 'utf8' })) ?? []
  return `nginx ${version}`
}

/** Starts nginx before a service. */
async function start(upstream) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-nginx-'))
  await chmod(folder, 0o755)
  const port = await findPort()
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
    'gzip on;',
    'gzip_types application/json text/event-stream;',
    'server {',
    `listen 127.0.0.1:${port};`,
    'location / {',
    `proxy_pass http://127.0.0.1:${upstream};`,
    'proxy_http_version 1.1;',
    'proxy_set_header Connection "";',
    '} } }',
  ]
  const file = join(folder, 'nginx.conf')
  await writeFile(file, `${lines.join('\n')}\n`)
  const log = join(folder, 'error.log')
  const child = spawn(PROGRAM, ['-c', file, '-e', log], { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(child, 'exit')
  process.on('exit', () => child.kill('SIGTERM'))
  await Promise.race([untilListening(port), ended.then(() => Promise.reject(new Error('nginx ended')))])
  return {
    port,
    async stop() {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export const operate = throughProxy({
  packages: ['nginx-light'],
  readVersion,
  about: '`gzip on` for JSON and event streams, HTTP/1.1 to the service, default buffers',
  start,
})
