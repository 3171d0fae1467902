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

/** Scenes, each against a service of its own. */
const SCENES = [
  ['roles, in memory', playRoles, TEAMS],
  ['roles, on SQLite', playRoles, [...TEAMS, '--data', join(folder, 'app.db')]],
  ['access', checkAccess, TEAMS],
  ['keyboard', playKeyboard, TEAMS],
  ['sessions', playSessions, TEAMS],
  ['tabs', playTabs, TEAMS],
  ['away', playAway, TEAMS],
  ['attacks', playAttacks, undefined],
  ['leaks', playLeaks, undefined],
  ['a large collection', playLarge, undefined],
]

let failures = 0
for (const [name, play, args] of SCENES) {
  if (asked !== undefined && !name.includes(asked)) continue
  const start = performance.now()
  const service = args && (await serve(...args))
  try {
    await play(browser, service)
    console.log(`✓ ${name} (${Math.round((performance.now() - start) / 1000)} s)`)
  } catch (thrown) {
    failures++
    console.error(`✗ ${name}\n${thrown?.stack ?? thrown}`)
  }
  await service?.stop()
}
await browser.close()
await rm(folder, { recursive: true, force: true })
process.exit(failures > 0 ? 1 : 0)
