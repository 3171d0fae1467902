import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../src/core/config/compile-config.js'
import { findWarnings } from '../../src/core/config/find-warnings.js'
import { TEMPLATE_NAMES, TEMPLATES } from '../../src/tools/cli/commands/templates.js'
import { ORIGIN, root, STACK, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'

// CONTRACT.md §7, "The command"

const { folder, start, startIn, run } = useCommand()
const execute = promisify(execFile)

/** The warnings that `$ignore` silences at start: invitations go to addresses that nobody has verified. */
const SILENCED: { readonly [template: string]: readonly string[] } = {
  teams: ['/collections/invitations/permissions/user'],
}

const FILES = ['config.json', 'config.test.mjs', 'documents.json']

/** Installs this package into a folder. */
async function installInto(project: string): Promise<void> {
  const link = join(project, 'node_modules', 'collection-service')
  await mkdir(dirname(link), { recursive: true })
  await symlink(root, link)
}

/** The lines for a shell that `init` printed. */
const commandsIn = (printed: string): readonly string[] =>
  printed.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []))

describe.each(TEMPLATE_NAMES)('init %s', (template) => {
  test('writes its files, says so, and its test passes', async () => {
    const name = `${template} with test`
    const { code, stdout, stderr } = await run('init', template, name)
    expect([code, stderr]).toEqual([0, ''])
    const project = join(folder(), name)
    expect((await readdir(project)).sort()).toEqual(FILES)
    for (const file of FILES) expect(stdout).toContain(file)
    expect(commandsIn(stdout).slice(0, 2)).toEqual([`cd '${name}'`, 'npm install collection-service'])

    await installInto(project)
    // Whatever the folder takes a .js for.
    await writeFile(join(project, 'package.json'), '{ "type": "commonjs" }')
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env
    const { stdout: report } = await execute(process.execPath, ['--test', '--test-reporter=tap'], {
      cwd: project,
      env,
    })
    expect(report).toMatch(/^# fail 0$/m)
    expect(report).toMatch(/^# pass [1-9]/m)
  })

  test('starts in production with a warning of its accounts alone, and the printed lines work', async () => {
    const name = `${template}-served`
    const { stdout } = await run('init', template, name)
    const inFolder = (file: string): string => join(name, file)
    const [config, seed] = [inFolder('config.json'), inFolder('documents.json')]
    const serving = startIn({ NODE_ENV: 'production' }, config, '--seed', seed, '--port', '0')
    const [origin] = await serving.printed(ORIGIN)
    const warned = serving
      .stderr()
      .split('\n')
      .filter((line) => line !== '')
    expect(warned).toEqual([expect.stringMatching(/^Warning: .*documents\.json contains \d+ accounts: /)])

    const lines = commandsIn(stdout).filter((line) => /^(?:curl|TOKEN=)/.test(line))
    const script = lines.map((line) => line.replaceAll('http://localhost:3000', origin))
    const { stdout: answers } = await execute('sh', ['-euc', script.join('\necho\n')])
    const answered = answers.split('\n').filter((line) => line !== '')
    expect(answered).toHaveLength(2)
    const [list, created] = answered.map((line) => JSON.parse(line))
    expect(list.length).toBeGreaterThan(0)
    expect(list[0].title).toEqual(expect.any(String))
    expect(created.title).toMatch(/^My first /)
  })

  test('explains every collection and every grant, and its configuration has no other warnings', () => {
    const config = JSON.parse(TEMPLATES[template].files['config.json'] ?? '')
    const facts = { production: true, hasAuthenticate: false }
    const warnings = findWarnings({ ...facts, plan: compileConfig(config, facts) })
    expect(warnings.map(({ path }) => path)).toEqual(SILENCED[template] ?? [])
    const commented: string[] = []
    JSON.stringify(config, (key, value) => {
      if (key === '$comment') commented.push(value)
      return value
    })
    expect(commented.length).toBeGreaterThan(8)
    for (const text of commented) expect(text).not.toMatch(/whoever|lest\b|\bis no\b/)
  })
})

test('without a name it is the first, in this folder', async () => {
  const { code, stdout, stderr } = await run('init')
  expect([code, stderr]).toEqual([0, ''])
  expect(commandsIn(stdout)[0]).toBe('npm install collection-service')
  const [first] = TEMPLATE_NAMES
  for (const [file, text] of Object.entries(TEMPLATES[first].files)) {
    expect(await readFile(join(folder(), file), 'utf8')).toBe(text)
  }
})

test('what is installed is not asked for', async () => {
  const project = join(folder(), 'installed')
  await installInto(project)
  const { stdout } = await run('init', 'notes', 'installed')
  expect(commandsIn(stdout).slice(0, 2)).toEqual([
    'cd installed',
    'npx collection-service --seed documents.json --watch',
  ])
})

test('below the folder with the package, the JSON Schema is named where it lies', async () => {
  const project = join(folder(), 'above')
  await installInto(project)
  await run('init', 'notes', join('above', 'below'))
  const written = await readFile(join(project, 'below', 'config.json'), 'utf8')
  const schema = await readFile(join(project, 'below', JSON.parse(written).$schema), 'utf8')
  expect(JSON.parse(schema)).toHaveProperty('properties.collections')
})

test.each(FILES)('where there is a file %s it writes nothing, and says why', async (file) => {
  const name = `with-${file}`
  const project = join(folder(), name)
  await mkdir(project)
  await writeFile(join(project, file), 'mine')
  const { code, stdout, stderr } = await run('init', 'blog', name)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain(join(name, file))
  expect(stderr).not.toMatch(STACK)
  expect(await readdir(project)).toEqual([file])
  expect(await readFile(join(project, file), 'utf8')).toBe('mine')
})

test('a folder that cannot be made is told in words', async () => {
  await writeFile(join(folder(), 'a-file'), '')
  const { code, stderr } = await run('init', 'notes', 'a-file')
  expect(code).toBe(1)
  expect(stderr).toContain('a-file')
  expect(stderr).not.toMatch(STACK)
})

test('what it writes serves by its name alone', async () => {
  await run('init', 'notes', 'plain')
  const serving = start(join('plain', 'config.json'), '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  expect((await judgedFetch(`${origin}/notes`)).status).toBe(401)
})
