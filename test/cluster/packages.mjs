import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** What Debian's packages bring. */
const PROGRAMS = {
  pgbouncer: '/usr/sbin/pgbouncer',
  haproxy: '/usr/sbin/haproxy',
  'etcd-server': '/usr/bin/etcd',
  patroni: '/usr/bin/patroni',
  iproute2: '/usr/sbin/ip',
  'nginx-light': '/usr/sbin/nginx',
  caddy: '/usr/bin/caddy',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
}

/** Installs the packages that are missing, and says so. */
export function installPackages(names) {
  const missing = names.filter((name) => !existsSync(PROGRAMS[name]))
  if (missing.length === 0) return
  process.stderr.write(`Installing ${missing.join(', ')} by apt-get.\n`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', ['update', '-q'], { stdio: ['ignore', 'ignore', 'inherit'], env })
  execFileSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...missing], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env,
  })
}

const idOf = (kind, user) => Number(execFileSync('id', [kind, user], { encoding: 'utf8' }))

/** Whom programs run as where this process is root: they refuse to be root, or should not be. */
export const asOther = () =>
  process.getuid() === 0 ? { uid: idOf('-u', 'postgres'), gid: idOf('-g', 'postgres') } : {}
