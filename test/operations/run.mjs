#!/usr/bin/env node
/**
 * Runs the service with other software: `npm run test:operations`, or one operation by `-- nginx`. Each operation is a file
 * of this folder. It exports `operate()`, which returns what results.md shows: a title that begins with the name of the
 * file, a description, the columns of a table and its rows; the second cell of a row is its result. If all rows are right,
 * they are written to results.md.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'

const RESULTS = new URL('results.md', import.meta.url)

const files = (await readdir(new URL('.', import.meta.url))).filter((name) => name.endsWith('.mjs'))
const known = files.filter((name) => name !== 'run.mjs').map((name) => name.slice(0, -4))
const given = process.argv.slice(2)
const names = given.length === 0 ? known : given
if (!names.every((name) => known.includes(name))) {
  process.stderr.write(`npm run test:operations -- <operation>, any of: ${known.join(', ')}\n`)
  process.exit(2)
}

/** Writes the results of an operation in the place of its earlier ones. */
async function keep(name, text) {
  const head = '# With other software\n\nWritten by `npm run test:operations`.\n'
  const before = existsSync(RESULTS) ? await readFile(RESULTS, 'utf8') : ''
  const [, ...parts] = before.split(/^(?=## )/m)
  const others = parts.filter((part) => !new RegExp(`^## ${name}\\b`).test(part)).map((part) => part.trim())
  await writeFile(RESULTS, `${[head.trim(), ...[...others, text.trim()].sort()].join('\n\n')}\n`)
}

const toRow = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`

let failures = 0
for (const name of names) {
  const { operate } = await import(`./${name}.mjs`)
  const { title, about, columns, rows } = await operate()
  const lines = [`## ${title}`, '', `${about}.`, '', toRow(columns), `|${'---|'.repeat(columns.length)}`]
  for (const { isRight, cells } of rows) {
    const [what, said, ...others] = cells
    lines.push(toRow([what, isRight ? said : `**failed:** ${said}`, ...others]))
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  const wrong = rows.filter(({ isRight }) => !isRight).length
  failures += wrong
  if (wrong === 0) await keep(name, lines.join('\n'))
}
process.exit(failures > 0 ? 1 : 0)
