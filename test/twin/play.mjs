/**
 * One of the two processes: loads a build of the package and plays the scenes against it, one request at a time. It writes each
 * exchange as a line of JSON. Arguments: the folder of the package, the bundle of the scenes, and what to play as JSON.
 */

import { readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { clock, isBusy, reseed } from './chance.mjs'
import { PLANTS, plantIn } from './plants.mjs'

const [folder, bundle, what] = process.argv.slice(2)
const { plant, ...asked } = JSON.parse(what)

/** The module that a subpath of the package leads to. */
function importSubpath(subpath) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return import(pathToFileURL(join(folder, exports[subpath].import.default)))
}

const [main, sqlite, testing] = await Promise.all(['.', './sqlite', './testing'].map(importSubpath))
const planted = plant === undefined ? main : plantIn(main, PLANTS[plant])

/** The modules that the scenes import as the package: see `bundle.mjs`. */
globalThis.twin = { '.': planted, './sqlite': sqlite, './testing': testing }

const { play } = await import(pathToFileURL(bundle))

function write(line) {
  let bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(1, bytes))
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
      // The other end reads as fast as it compares.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

await play(asked, { clock, isBusy, reseed, tell: write })
write({ end: true })
process.exit(0)
