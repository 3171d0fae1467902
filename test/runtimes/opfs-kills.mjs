/**
 * Kills Chromium while a page writes to the origin private file system: node opfs-kills.mjs PROJECT PACKAGE. PROJECT has
 * installed the package and has the example; PACKAGE is the folder of `@sqlite.org/sqlite-wasm`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium, launchWithProfile } from '../page/browser.mjs'
import { createCounts } from '../support/counts.mjs'
import { findChild, judgePairs, killGroup, wait } from './kills.mjs'
import { serveOpfs } from './serve-opfs.mjs'

const ROUNDS = 12
/** The writers of the page, which write at the same time. */
const WRITERS = 2

const [project, wasm] = process.argv.slice(2)
const { judge, end } = createCounts()
// One origin for all rounds, which all have its files.
const server = await serveOpfs({ project, wasm, script: join(import.meta.dirname, 'pairs-in-page.mjs') })
const profile = await mkdtemp(join(tmpdir(), 'collection-service-kills-'))

/** Opens the page in a new Chromium, and ends it after `work`. `told` gets the pairs that the page reports. */
async function use(told, work) {
  const context = await launchWithProfile(findChromium(), profile)
  try {
    await context.exposeFunction('report', (pair) => void told.push(pair))
    const tab = await context.newPage()
    tab.setDefaultTimeout(120_000)
    await tab.goto(server.url)
    return await work(tab)
  } finally {
    await context.close()
  }
}

/** Kills Chromium in the middle of writes, at another moment in each round. */
const kill = (round, told) =>
  use(told, async (tab) => {
    const enough = told.length + 20 + 5 * round
    const browser = await findChild('chrom')
    // What ends a writer before the kill.
    const ends = []
    let isKilled = false
    const writers = Array.from({ length: WRITERS }, (_, writer) =>
      tab
        .evaluate((name) => globalThis.writePairs(name), `${round}-${writer}`)
        .then(JSON.stringify, ({ message }) => message)
        .then((how) => isKilled || ends.push(how)),
    )
    while (ends.length === 0 && told.length < enough) await wait(5)
    await wait(40 * Math.random())
    isKilled = true
    // Chromium is started as the first of a group.
    await killGroup(browser)
    await Promise.all(writers)
    judge(`round ${round} › ${ends}`, ends.length === 0)
  })

try {
  const told = []
  for (let round = 0; round < ROUNDS; round += 1) await kill(round, told)
  const stored = await use(told, (tab) => tab.evaluate(() => globalThis.listPairs()))
  judgePairs(judge, 'the origin private file system', { told, stored })
} catch (error) {
  judge(error.stack, false)
} finally {
  server.close()
  await rm(profile, { recursive: true, force: true })
}
end()
