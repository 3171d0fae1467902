import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { becomes, openPage, serve } from '../browser.mjs'

const CONFIG = {
  collections: {
    people: { schema: { name: { type: 'string', maxLength: 80 } }, permissions: { '*': true } },
    things: {
      schema: {
        s: { type: 'string', maxLength: 80 },
        n: { type: 'integer' },
        any: { type: 'json' },
        who: { type: 'reference', collection: 'people' },
        team: { type: 'array', items: { type: 'reference', collection: 'people' } },
      },
      permissions: { '*': true },
    },
  },
}

const SEED = {
  people: [{ name: 'Alpha' }, { name: 'Zed' }],
  things: [
    { s: 'one\r\ntwo', any: { a: 1, b: 2 } },
    { s: 'aa', n: 1000 },
    // Nothing is less likely to be there than this one, and nobody keeps others from making it.
    { _id: '00000000-0000-4000-8000-000000000000', s: 'ab' },
    { s: 'bb', n: 1 },
    { s: '1e3' },
  ],
}

/** Filters of an address, and the number of the documents that the API has for each. */
const QUERIES = [
  ['q[s][$regex]=^A&q[s][$options]=i', 2],
  ['q[$or][0][$or][0][s]="aa"&q[$or][0][$or][1][s]="bb"', 2],
  ['q[s]=1e3', 1],
  ['q[s]="aa"&q[s]="bb"', 2],
]

/** What is written is stored as it is written, and what is asked for is what is shown; or it is said why not. */
export async function playExact(browser) {
  const folder = await mkdtemp(join(tmpdir(), 'page-exact-'))
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG))
  await writeFile(join(folder, 'seed.json'), JSON.stringify(SEED))
  const service = await serve(join(folder, 'config.json'), '--seed', join(folder, 'seed.json'))
  const screen = await openPage(browser, service)
  try {
    await askByAddress(screen)
    await filter(screen)
    await edit(screen, service)
    await refer(screen, service)
    await leaveOut(screen, service)
    await screen.close({ mayRefuse: true })
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const countRows = (screen) => screen.page.locator('tbody tr').count()

const readTotal = (screen) => screen.page.locator('.total').textContent()

async function askByAddress(screen) {
  for (const [query, count] of QUERIES) {
    await screen.go(`#/list/things?${query}`)
    await becomes(() => readTotal(screen), count === 1 ? '1 match' : `${count} matches`)
    await becomes(() => countRows(screen), count)
  }
  await screen.go('#/list/things?foo=1')
  await screen.page.getByRole('alert').filter({ hasText: 'foo' }).waitFor()
}

/** A condition in the form: its place, what it says, and what it compares with. */
async function write(screen, place, [field, condition, value]) {
  await screen.press('Add a condition')
  const line = screen.page.locator('.condition').nth(place)
  await line.getByLabel('Field', { exact: true }).selectOption(field)
  await line.getByLabel('Condition', { exact: true }).selectOption({ label: condition })
  await line.locator('input').fill(value)
}

async function filter(screen) {
  await screen.go('#/list/things')
  await becomes(() => readTotal(screen), '5 documents')
  await screen.page.getByText('Filter', { exact: true }).click()
  await write(screen, 0, ['n', 'is', 'abc'])
  await screen.press('Apply')
  await screen.page.locator('.condition .fault', { hasText: 'not a number' }).waitFor()
  assert.equal(await countRows(screen), 5)
  await screen.page.getByRole('button', { name: 'Remove the condition on n' }).click()
  await write(screen, 0, ['s', 'contains', 'a'])
  await write(screen, 1, ['s', 'contains', 'b'])
  await screen.press('Apply')
  await becomes(() => readTotal(screen), '1 match')
  await becomes(() => countRows(screen), 1)
}

const find = async (service, query) => (await service.ask('GET', `/things?${query}`)).body[0]

async function edit(screen, service) {
  const { _id } = await find(service, 'q[any][$exists]=true')
  await screen.go(`#/document/things/${_id}`)
  await screen.heading('one')
  await screen.page.locator('textarea[name=s]').press('Control+End')
  await screen.page.locator('textarea[name=s]').pressSequentially('!')
  await screen.page.locator('textarea[name=any]').fill('{"a":1}')
  await screen.press('Save')
  await screen.said('Saved')
  const { s, any } = await find(service, 'q[any][$exists]=true')
  assert.deepEqual({ s, any }, { s: 'one\r\ntwo!', any: { a: 1 } })
}

/** Enter never takes what was found for another text. */
async function refer(screen, service) {
  await screen.go('#/new/things')
  await screen.heading('Add to things')
  const input = screen.page.getByRole('combobox', { name: 'who' })
  await input.click()
  await screen.page.getByRole('option', { name: 'Alpha' }).waitFor()
  await input.fill('Zed')
  await input.press('Enter')
  await screen.page.getByRole('option', { name: 'Alpha' }).waitFor({ state: 'detached' })
  // Where the machine is slow, it was found before, and is chosen.
  if ((await input.getAttribute('aria-expanded')) === 'true') {
    await screen.page.getByRole('option', { name: 'Zed' }).waitFor()
    await input.press('Enter')
  }
  // What would be allowed was asked meanwhile, and nothing is stored.
  await screen.settle()
  assert.equal((await service.ask('GET', '/things/count')).body.total, SEED.things.length)
  await screen.press('Add')
  await screen.said('Added')
  const { who } = await find(service, 'q[who][$exists]=true&expand=["who"]')
  assert.equal(who.name, 'Zed')
}

/** Of a list the names move with what they are the names of. */
async function leaveOut(screen, service) {
  const { body: people } = await service.ask('GET', '/people?sort[name]=1')
  const team = people.map(({ _id }) => _id)
  const { body: made } = await service.ask('POST', '/things', { body: { team } })
  await screen.go(`#/document/things/${made._id}`)
  const names = () =>
    screen.page
      .getByRole('group', { name: 'team' })
      .getByRole('combobox')
      .evaluateAll((inputs) => inputs.map(({ value }) => value).join())
  await becomes(names, 'Alpha,Zed')
  await screen.page.getByRole('button', { name: 'Remove' }).first().click()
  await becomes(names, 'Zed')
  await screen.press('Save')
  await screen.said('Saved')
  assert.deepEqual((await service.ask('GET', `/things/${made._id}`)).body.team, team.slice(1))
}
