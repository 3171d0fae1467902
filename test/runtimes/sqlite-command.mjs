/** The command with a SQLite file, where nothing is installed beside the package. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../support/packed.mjs'

const CONFIG = {
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } } },
}

const COMMAND = join('node_modules', 'collection-service', 'dist', 'cli.js')

/** Serves a configuration, and resolves with the URL. */
async function serve({ program, args, folder }, ...more) {
  const child = spawn(program, [...args, COMMAND, ...more, '--port', '0'], { cwd: folder })
  let printed = ''
  const url = new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => {
        printed += bytes
        const [found] = /http:\/\/localhost:\d+/.exec(printed) ?? []
        if (found) resolve(found)
      })
    child.once('close', () => reject(new Error(`the command ended: ${printed}`)))
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  return { url: await url, child, ended }
}

/** A document is created, and is there after a restart, in a backup, and in a file that is restored from it. */
export async function judgeCommand(runtime) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-command-'))
  const [config, data, copy] = ['config.json', 'app.db', 'copy.db'].map((name) => join(folder, name))
  const failures = []
  const start = (...args) =>
    run(runtime.program, [...runtime.args, COMMAND, ...args], { cwd: runtime.folder })
  const expectSuccess = (what, { status, stdout, stderr }) => {
    if (status !== 0) failures.push(`${what} ended with ${status}: ${stdout}${stderr}`)
  }
  try {
    await writeFile(config, JSON.stringify(CONFIG))
    for (let times = 0; times < 2; times += 1) {
      const { url, child, ended } = await serve(runtime, config, '--data', data)
      if (times === 0) {
        const body = JSON.stringify({ text: 'kept' })
        const headers = { 'content-type': 'application/json' }
        const { status } = await fetch(`${url}/notes`, { method: 'POST', headers, body })
        if (status !== 201) failures.push(`a create is answered with ${status}`)
        expectSuccess('a backup of a file that is served', await start('backup', '--data', data, copy))
      }
      const texts = (await (await fetch(`${url}/notes`)).json()).map(({ text }) => text)
      if (String(texts) !== 'kept') failures.push(`the documents are ${texts}`)
      child.kill('SIGTERM')
      await ended
    }
    expectSuccess('a restore', await start('restore', copy, '--data', data, '--yes'))
    const { stdout } = await start('dump', '--data', data, config)
    if (!stdout.includes('"text":"kept"')) failures.push('the restored file lacks the document')
    const nowhere = await start(config, '--data', join(folder, 'nowhere', 'app.db'))
    if (nowhere.status === 0 || !nowhere.stderr.includes('its folder does not exist'))
      failures.push(`a file in no folder: ${nowhere.stderr}`)
  } catch (error) {
    failures.push(String(error?.stack ?? error))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return failures
}

/** A port that nothing uses. */
async function findPort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, 'localhost', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** An example of a server keeps an account when it is started again, and ends when it is told to. */
export async function judgeExample({ program, args, folder }, script) {
  const own = await mkdtemp(join(tmpdir(), 'collection-service-example-'))
  const failures = []
  const account = { email: 'kept@example.com', password: 'correct horse' }
  const headers = { 'content-type': 'application/json' }
  try {
    for (const expected of [201, 409]) {
      const port = await findPort()
      const env = { ...process.env, PORT: String(port), DATA_FILE: join(own, 'data.db') }
      const child = spawn(program, [...args, script], { cwd: folder, env })
      let printed = ''
      child.stderr.on('data', (bytes) => (printed += bytes))
      const ended = new Promise((resolve) => child.once('close', resolve))
      const register = () =>
        fetch(`http://localhost:${port}/auth/register`, {
          method: 'POST',
          headers,
          body: JSON.stringify(account),
        })
      let answer
      while (answer === undefined && child.exitCode === null)
        answer = await register().catch(() => new Promise((resolve) => setTimeout(resolve, 50)))
      if (answer?.status !== expected) failures.push(`${script} answers ${answer?.status}: ${printed}`)
      await answer?.body?.cancel()
      child.kill('SIGTERM')
      const code = await ended
      if (code !== 0) failures.push(`${script} ends with ${code}: ${printed}`)
    }
  } finally {
    await rm(own, { recursive: true, force: true })
  }
  return failures
}

/** Without a library of SQLite, the command names both ways to get one. */
export async function judgeWithout({ program, args, folder }) {
  const own = await mkdtemp(join(tmpdir(), 'collection-service-command-'))
  try {
    const config = join(own, 'config.json')
    await writeFile(config, JSON.stringify(CONFIG))
    const { status, stderr } = await run(
      program,
      [...args, COMMAND, config, '--data', join(own, 'app.db'), '--port', '0'],
      { cwd: folder },
    )
    const isNamed = stderr.includes('npm install better-sqlite3') && stderr.includes('Node 24')
    return status !== 0 && isNamed ? [] : [`ended with ${status}: ${stderr}`]
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}
