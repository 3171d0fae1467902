import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findPort, untilListening } from '../../cluster/start-pgbouncer.mjs'
import { createFolder, root } from '../../support/packed.mjs'

/** A file of `examples/deployment`, with some texts replaced. Throws for a text that the file does not contain. */
export async function readExample(name, replaced = {}) {
  let text = await readFile(join(root, 'examples/deployment', name), 'utf8')
  for (const [from, to] of Object.entries(replaced)) {
    if (!text.includes(from)) throw new Error(`examples/deployment/${name} does not contain ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}

/** Creates a certificate for this machine that is signed by itself: the names of its files. */
export function createCertificate(folder) {
  const [certificate, key, both] = ['crt', 'key', 'pem'].map((end) => join(folder, `collections.${end}`))
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  execFileSync('openssl', [...request, '-days', '2', ...names, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  execFileSync('sh', ['-c', `cat ${certificate} ${key} > ${both} && chmod a+r ${key} ${both}`])
  return { certificate, key, both }
}

/** Starts a program and waits until it listens on `port`. It stops with `signal`. */
export async function startProgram(program, args, { port, signal = 'SIGTERM', env = {}, log }) {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      printed += text
      log?.(String(text))
    })
  const ended = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const early = ended.then(() => Promise.reject(new Error(`${program} ended:\n${printed}`)))
  await Promise.race([untilListening(port), early])
  early.catch(() => {})
  return {
    async stop() {
      child.kill(signal)
      await ended
      process.off('exit', kill)
    },
  }
}

/**
 * Two processes of the command over one SQLite file, as the examples of proxies expect them. `restart(index)` stops a
 * process by SIGTERM and starts it again.
 */
export async function startService(config) {
  const folder = await createFolder('service')
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
  const ports = [await findPort(), await findPort()]
  const printed = []
  const start = (port) =>
    startProgram(
      process.execPath,
      [
        join(root, 'dist/cli.js'),
        ...[join(folder, 'config.json'), '--port', String(port), '--host', '127.0.0.1'],
        ...['--data', join(folder, 'app.db'), '--drain', '3', '--trust-proxy', '1', '--log', 'json'],
      ],
      { port, log: (text) => printed.push(...text.trim().split('\n')) },
    )
  const running = [await start(ports[0]), await start(ports[1])]
  return {
    ports,
    /** The lines of the logs of both processes. */
    printed,
    async restart(index) {
      await running[index].stop()
      running[index] = await start(ports[index])
    },
    async stop() {
      await Promise.all(running.map(({ stop }) => stop()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Creates a folder that any user can read, for a proxy. */
export async function createOpenFolder(name) {
  const folder = await createFolder(name)
  await chmod(folder, 0o755)
  return folder
}
