import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium, launch, serve } from './browser.mjs'
import { checkAccess, playKeyboard } from './scenes/access.mjs'
import { playAttacks } from './scenes/attacks.mjs'
import { playLarge } from './scenes/large.mjs'
import { playLeaks } from './scenes/leaks.mjs'
import { playRoles } from './scenes/roles.mjs'
import { playAway, playSessions } from './scenes/sessions.mjs'
import { playTabs } from './scenes/tabs.mjs'

const TEAMS = ['examples/teams/config.json', '--seed', 'examples/teams/documents.json']

const chromium = findChromium()
if (chromium === undefined) {
  console.log('There is no Chromium on this machine: the page is not tried in a browser.')
  console.log('Install it (apt-get install chromium), or name it in the variable CHROME_PATH.')
  process.exit(0)
}

const folder = await mkdtemp(join(tmpdir(), 'page-'))
const browser = await launch(chromium)
const [asked] = process.argv.slice(2)

/** Scenes, each against a service of its own. The longest come first: two are played at a time. */
const SCENES = [
  ['access', checkAccess, TEAMS],
  ['tabs', playTabs, TEAMS],
  ['roles, in memory', playRoles, TEAMS],
  ['roles, on SQLite', playRoles, [...TEAMS, '--data', join(folder, 'app.db')]],
  ['attacks', playAttacks, undefined],
  ['sessions', playSessions, TEAMS],
  ['away', playAway, TEAMS],
  ['a large collection', playLarge, undefined],
  ['leaks', playLeaks, undefined],
  ['keyboard', playKeyboard, TEAMS],
]

let failures = 0
async function play([name, scene, args]) {
  const start = performance.now()
  let service
  try {
    service = args && (await serve(...args))
    await scene(browser, service)
    console.log(`✓ ${name} (${Math.round((performance.now() - start) / 1000)} s)`)
  } catch (thrown) {
    failures++
    console.error(`✗ ${name}\n${thrown?.stack ?? thrown}`)
  }
  await service?.stop()
}

const waiting = SCENES.filter(([name]) => asked === undefined || name.includes(asked))
async function playOn() {
  for (let scene = waiting.shift(); scene; scene = waiting.shift()) await play(scene)
}
await Promise.all([playOn(), playOn()])
await browser.close()
await rm(folder, { recursive: true, force: true })
process.exit(failures > 0 ? 1 : 0)
