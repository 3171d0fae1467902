#!/usr/bin/env node
/**
 * A service through real proxies, each a file of this folder: `npm run test:operations -- nginx`. It exports what it needs
 * (`packages`), what it is (`readVersion`, `about`), and `start(port)`, which gives `{ port, stop }`. Where all checks pass,
 * their results are written into results.md.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createClient } from '../../dist/client.js'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { installPackages } from '../cluster/packages.mjs'
import { CHECKS, config } from './checks.mjs'

const RESULTS = new URL('results.md', import.meta.url)
const NO_PROXIES = ['run.mjs', 'checks.mjs']

const files = (await readdir(new URL('.', import.meta.url))).filter((name) => name.endsWith('.mjs'))
const known = files.filter((name) => !NO_PROXIES.includes(name)).map((name) => name.slice(0, -4))
const names = process.argv.slice(2)
if (names.length === 0 || !names.every((name) => known.includes(name))) {
  process.stderr.write(`npm run test:operations -- <proxy>, one or more of: ${known.join(', ')}\n`)
  process.exit(2)
}

/** Runs one check: what it says, or why it failed. What never comes fails after 20 seconds. */
async function run(check, port) {
  const seen = []
  const signal = AbortSignal.timeout(20_000)
  const send = async (input, init) => {
    const response = await fetch(input, init)
    const { status, headers } = response
    seen.push({ status, tag: headers.get('etag'), coding: headers.get('content-encoding') })
    return response
  }
  const origin = `http://127.0.0.1:${port}`
  const ask = (path, init) => send(origin + path, init)
  const client = createClient(origin, { headers: { 'accept-encoding': 'gzip' }, fetch: send })
  const late = new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('nothing came for 20 seconds')))
  })
  try {
    const said = await Promise.race([check(client, { ask, seen, signal }), late])
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

/** Writes the results of a proxy in the place of its earlier ones. */
async function keep(name, text) {
  const head = '# Through proxies\n\nWritten by `npm run test:operations -- <proxy>`.\n'
  const before = existsSync(RESULTS) ? await readFile(RESULTS, 'utf8') : ''
  const [, ...parts] = before.split(/^(?=## )/m)
  const others = parts.filter((part) => !part.startsWith(`## ${name} `)).map((part) => part.trim())
  await writeFile(RESULTS, `${[head.trim(), ...[...others, text.trim()].sort()].join('\n\n')}\n`)
}

let failures = 0
for (const name of names) {
  const proxy = await import(`./${name}.mjs`)
  try {
    installPackages(proxy.packages)
  } catch (thrown) {
    process.stderr.write(
      `${name} cannot be installed here (root and Debian's packages are needed): ${thrown.message}\n`,
    )
    process.exit(1)
  }
  const handler = createCollectionService(config, createMemoryAdapter(), {
    production: false,
    logger: { warn() {} },
  })
  const server = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port, stop } = await proxy.start(server.address().port)
  const lines = [
    `## ${proxy.readVersion()}`,
    '',
    `${proxy.about}.`,
    '',
    '| check | result | answers |',
    '|---|---|---|',
  ]
  let isRight = true
  for (const [what, check] of Object.entries(CHECKS)) {
    const result = await run(check, port)
    isRight &&= result.isRight
    if (!result.isRight) failures++
    lines.push(
      `| ${what} | ${result.isRight ? '' : '**failed:** '}${result.said} | ${describeAnswers(result.seen)} |`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  if (isRight) await keep(name, lines.join('\n'))
  await stop()
  server.closeAllConnections()
  server.close()
  await handler.close()
}
process.exit(failures > 0 ? 1 : 0)
