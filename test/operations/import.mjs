import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createFolder, installOnce, root, runSound } from '../support/packed.mjs'

const COMMAND = join(root, 'dist', 'cli.js')

const SENSORS = Array.from({ length: 50 }, (_, i) => ({
  name: `sensor ${i}`,
  place: i % 2 === 0 ? 'roof' : 'cellar',
  value: i + 0.5,
}))

const oid = (i) => i.toString(16).padStart(24, '0')
const at = (i) => new Date(Date.UTC(2026, 0, 1 + i))

/** Lines of mongoexport, canonical (all numbers named) or relaxed. */
const exported = (isCanonical) =>
  SENSORS.map(({ name, place, value }, i) =>
    JSON.stringify({
      _id: { $oid: oid(i) },
      name,
      place,
      count: isCanonical ? { $numberInt: `${i}` } : i,
      value: isCanonical ? { $numberDouble: `${value}` } : value,
      seenAt: { $date: isCanonical ? { $numberLong: `${at(i).getTime()}` } : at(i).toISOString() },
    }),
  ).join('\n')

/**
 * What is imported: a file of a package in an exact version, or one that is made here; how many documents its collection
 * has then, and a filter, with how many it finds of the source, and what one of them holds.
 */
const SOURCES = [
  {
    spec: 'world-countries@5.1.0',
    path: 'world-countries/countries.json',
    name: 'countries.json',
    count: (source) => source.length,
    filter: { 'q[region]': 'Oceania' },
    found: (source) => source.filter(({ region }) => region === 'Oceania').length,
    one: { region: 'Oceania' },
  },
  {
    spec: 'mime-db@1.54.0',
    path: 'mime-db/db.json',
    name: 'types.json',
    count: (source) => Object.keys(source).length,
    filter: { 'q[key]': 'text/html' },
    found: () => 1,
    one: { key: 'text/html', source: 'iana', compressible: true },
  },
  {
    spec: 'emojibase-data@17.0.0',
    path: 'emojibase-data/en/data.json',
    name: 'emojis.json',
    count: (source) => source.length,
    filter: { 'q[label]': 'grinning face' },
    found: () => 1,
    one: { label: 'grinning face' },
  },
  ...[true, false].map((isCanonical) => ({
    name: `sensors-${isCanonical ? 'canonical' : 'relaxed'}.json`,
    text: exported(isCanonical),
    what: `mongoexport, ${isCanonical ? 'canonical' : 'relaxed'}`,
    count: () => SENSORS.length,
    filter: { 'q[seenAt][$gte]': '2026-01-31', 'q[count][$lt]': '40' },
    found: () => 10,
    one: { name: 'sensor 30', count: 30, value: 30.5, seenAt: '2026-01-31T00:00:00.000Z', id: oid(30) },
  })),
  {
    name: 'lines.ndjson',
    text: SENSORS.map((one) => JSON.stringify(one)).join('\n'),
    what: 'NDJSON',
    count: () => SENSORS.length,
    filter: { 'q[place]': 'roof' },
    found: () => 25,
    one: { name: 'sensor 0', place: 'roof', value: 0.5 },
  },
]

/** Serves what was imported until `use` is over. */
async function serve(folder, use) {
  const args = [COMMAND, 'imported/config.json', '--seed', 'imported/documents.json', '--port', '0']
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  child.stderr.on('data', (text) => {
    printed += text
  })
  const ended = once(child, 'exit')
  const listens = new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      printed += text
      const [origin] = /http:\/\/[^/\s]+:\d+/.exec(printed) ?? []
      if (origin) resolve(origin)
    })
    ended.then(() => reject(new Error(printed)))
  })
  try {
    return await use(await listens)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** Imports one file, serves it and asks for documents of it. */
async function tryImport({ spec, path, name, text, what, count, filter, found, one }) {
  const folder = await createFolder('import')
  try {
    const file = join(folder, name)
    if (spec) await copyFile(join(await installOnce(spec), 'node_modules', path), file)
    else await writeFile(file, text)
    await runSound(process.execPath, [COMMAND, 'import', name, 'imported'], { cwd: folder })
    const source = spec ? createRequire(import.meta.url)(file) : undefined
    const { collections } = JSON.parse(await readFile(join(folder, 'imported', 'config.json'), 'utf8'))
    const [collection, ...others] = Object.keys(collections)
    return await serve(folder, async (origin) => {
      const ask = async (query) => (await fetch(`${origin}/${collection}${query}`)).json()
      const { total } = await ask('/count')
      const query = new URLSearchParams(filter)
      const documents = await ask(`?${query}`)
      const first = documents[0] ?? {}
      const isOne = Object.entries(one).every(([field, value]) => first[field] === value)
      const isRight =
        others.length === 0 && total === count(source) && documents.length === found(source) && isOne
      const fields = Object.keys(collections[collection].schema).length
      return {
        isRight,
        cells: [
          spec ? `${spec.replace('@', ' ')}, ${path.split('/').slice(1).join('/')}` : what,
          `${total} documents of ${count(source)}, ${fields} fields`,
          `\`${decodeURIComponent(query)}\`: ${documents.length}`,
        ],
      }
    })
  } catch (thrown) {
    return { isRight: false, cells: [spec ?? what, thrown.message.split('\n')[0], ''] }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Imports published files and exports by the command, serves each, and asks for documents of it. */
export async function operate() {
  const rows = []
  for (const source of SOURCES) rows.push(await tryImport(source))
  return {
    title: 'import of published files',
    about: 'Each imported, served and queried by the built command',
    columns: ['file', 'result', 'a filter, and what it finds'],
    rows,
  }
}
