import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { createTemporaryFile } from '../../src/adapters/sqlite/connection/temporary-file.js'

test('a temporary file has a folder of its own, and goes with it', () => {
  const [one, two] = [createTemporaryFile(), createTemporaryFile()]
  expect(one.file).not.toBe(two.file)
  for (const { file, remove } of [one, two]) {
    writeFileSync(file, '')
    writeFileSync(`${file}-wal`, '')
    remove()
    expect(existsSync(dirname(file))).toBe(false)
  }
})

test('many temporary files are one listener of the process', async () => {
  // A copy of its own: another test may have a file of the shared one open.
  vi.resetModules()
  const { createTemporaryFile } = await import('../../src/adapters/sqlite/connection/temporary-file.js')
  const before = process.listenerCount('exit')
  const files = Array.from({ length: 20 }, createTemporaryFile)
  expect(process.listenerCount('exit')).toBe(before + 1)
  for (const { remove } of files) remove()
  expect(process.listenerCount('exit')).toBe(before)
})

test('a process that ends without closing leaves none behind', () => {
  const dist = fileURLToPath(new URL('../../dist/sqlite.js', import.meta.url))
  const script = `
    import { readdirSync } from 'node:fs'
    import { tmpdir } from 'node:os'
    import { createSqliteAdapter } from ${JSON.stringify(dist)}
    const before = new Set(readdirSync(tmpdir()))
    const adapter = createSqliteAdapter({ file: ':memory:' })
    await adapter.open([])
    console.log(readdirSync(tmpdir()).filter((name) => !before.has(name)).join())
    process.exit()
  `
  const folder = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
  const env = { ...process.env, TMPDIR: folder }
  const args = ['--input-type=module', '-e', script]
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', env }).trim()
  expect(printed).not.toBe('')
  expect(existsSync(`${folder}/${printed}`)).toBe(false)
})
