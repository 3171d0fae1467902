import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium, launch, serve } from './browser.mjs'
import { checkAccess, playKeyboard } from './scenes/access.mjs'
import { playAttacks } from './scenes/attacks.mjs'
import { playCookies } from './scenes/cookies.mjs'
import { playExact } from './scenes/exact.mjs'
import { playGroups } from './scenes/groups.mjs'
import { playLarge } from './scenes/large.mjs'
import { playLeaks } from './scenes/leaks.mjs'
import { playRoles } from './scenes/roles.mjs'
import { playAway, playSessions } from './scenes/sessions.mjs'
import { playTabs } from './scenes/tabs.mjs'

const chromium = findChromium()
if (chromium === undefined) {
  console.log('There is no Chromium on this machine: the page is not tried in a browser.')
  console.log('Install it (apt-get install chromium), or name it in the variable CHROME_PATH.')
  process.exit(0)
}

const folder = await mkdtemp(join(tmpdir(), 'page-'))
const browser = await launch(chromium)
const [asked] = process.argv.slice(2)

/** Serves `examples/teams` with its seed; secrets cost as little as they may. */
async function serveTeams(...options) {
  const config = JSON.parse(await readFile('examples/teams/config.json', 'utf8'))
  const file = join(folder, 'config.json')
  await writeFile(file, JSON.stringify({ ...config, auth: { ...config.auth, cost: 10 } }))
  return serve(file, '--seed', 'examples/teams/documents.json', ...options)
}

/** `examples/teams`, each for all scenes that are played there: no scene touches what another one looks at. */
const TEAMS = {
  memory: () => serveTeams(),
  sqlite: () => serveTeams('--data', join(folder, 'app.db')),
}

/** Scenes, each with the service of which it is one. The longest come first: two are played at a time. */
const SCENES = [
  ['access', checkAccess, 'memory'],
  ['roles, in memory', playRoles, 'memory'],
  ['roles, on SQLite', playRoles, 'sqlite'],
  ['tabs', playTabs, 'memory'],
  ['attacks', playAttacks],
  ['leaks', playLeaks],
  ['cookies', playCookies],
  ['exact', playExact],
  ['groups', playGroups],
  ['sessions', playSessions, 'memory'],
  ['away', playAway, 'memory'],
  ['a large collection', playLarge],
  ['keyboard', playKeyboard, 'memory'],
]

const started = new Map()
const startOnce = (name) => {
  if (!started.has(name)) started.set(name, TEAMS[name]())
  return started.get(name)
}

let [passed, failed] = [0, 0]
async function play([name, scene, service]) {
  const start = performance.now()
  try {
    await scene(browser, service && (await startOnce(service)))
    passed++
    console.log(`✓ ${name} (${Math.round((performance.now() - start) / 1000)} s)`)
  } catch (thrown) {
    failed++
    console.error(`✗ ${name}\n${thrown?.stack ?? thrown}`)
  }
}

const waiting = SCENES.filter(([name]) => asked === undefined || name.includes(asked))
async function playOn() {
  for (let scene = waiting.shift(); scene; scene = waiting.shift()) await play(scene)
}
await Promise.all([playOn(), playOn()])
await browser.close()
for (const service of started.values()) await (await service).stop()
await rm(folder, { recursive: true, force: true })
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
