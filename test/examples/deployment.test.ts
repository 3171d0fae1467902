import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { parseCommand, secondsOfStop } from './support/command-line.js'

/** CONTRACT.md §7, "The command": the command lines of `examples/deployment`. test/operations runs the other files. */

const read = (name: string): Promise<string> =>
  readFile(new URL(`../../examples/deployment/${name}`, import.meta.url), 'utf8')

/** The value of a line `name=value`, or of `name value` in a Dockerfile. */
const findValue = (text: string, name: string): string =>
  new RegExp(`^${name}[= ](.*)$`, 'm').exec(text)?.[1] ?? ''

const entryOf = async (): Promise<readonly string[]> =>
  JSON.parse(findValue(await read('Dockerfile'), 'ENTRYPOINT'))

const BEHIND_PROXY = { trust: 1 }

test('collections@.service serves on the port that its name ends with, over the file in its folder', async () => {
  const unit = await read('collections@.service')
  const args = parseCommand(findValue(unit, 'ExecStart').split(' '), { '%i': '3001' })
  const file = `/var/lib/${findValue(unit, 'StateDirectory')}/app.db`
  expect(args).toMatchObject({
    host: '127.0.0.1',
    port: 3001,
    storage: { kind: 'file', file },
    proxies: BEHIND_PROXY,
    log: 'json',
  })
  expect(Number(findValue(unit, 'TimeoutStopSec'))).toBeGreaterThan(secondsOfStop(args))
  // Without a name, each process would have a user of its own, and could not write what another one created.
  expect(findValue(unit, 'User')).not.toBe('')
})

test('Dockerfile serves a file in its volume, and asks the port on which it listens', async () => {
  const text = await read('Dockerfile')
  const args = parseCommand([...(await entryOf()), ...JSON.parse(findValue(text, 'CMD'))])
  expect(args).toMatchObject({
    host: '0.0.0.0',
    storage: { kind: 'file', file: `${findValue(text, 'VOLUME')}/app.db` },
  })
  expect(text).toContain(`EXPOSE ${args.port}\n`)
  expect(findValue(text, 'HEALTHCHECK')).toContain(`http://127.0.0.1:${args.port}/_health/ready`)
})

test('compose.yaml serves a database in the image of the Dockerfile, and waits for a stop', async () => {
  const { service, database } = parseYaml(await read('compose.yaml')).services
  const args = parseCommand([...(await entryOf()), ...service.command])
  expect(args).toMatchObject({
    storage: { kind: 'database', url: 'postgres://app@database:5432/app' },
    proxies: BEHIND_PROXY,
  })
  expect(Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThan(secondsOfStop(args))
  // The URL has no password: pg reads it from the environment.
  for (const password of [service.environment.PGPASSWORD, database.environment.POSTGRES_PASSWORD])
    expect(password).toMatch(/^\$\{POSTGRES_PASSWORD\b/)
})
