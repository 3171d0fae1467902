import assert from 'node:assert/strict'
import { becomes, openPage } from '../browser.mjs'

const NEVER = { 'if-match': '"-"' }

/** A guest, a founder and a member, from sign-up to sign-out; each sees and can do what the API allows, and no more. */
export async function playRoles(browser, service) {
  const guest = await openPage(browser, service)
  await becomes(() => shownCollections(guest.page), await allowedCollections(service))
  await guest.close()
  await playGuestOfTeam(browser, service)

  const founder = await openPage(browser, service)
  await founder.register('founder@example.com', 'correct horse 1')
  await foundTeam(founder)
  await invite(founder, 'member@example.com', 'member')

  const member = await openPage(browser, service)
  await member.register('member@example.com', 'correct horse 2')
  await accept(member, 'Mel', 'member')
  await addProject(founder)
  await addTask(founder)
  await filterTasks(founder)
  await conflict(founder, member, service)

  for (const [screen, email, password] of [
    [founder, 'founder@example.com', 'correct horse 1'],
    [member, 'member@example.com', 'correct horse 2'],
  ]) {
    await compareRights(screen, service, await readToken(service, email, password))
  }
  await deleteTask(founder)
  for (const screen of [founder, member]) {
    await screen.go('#/account')
    await screen.heading('Your account')
    // Nothing is asked any more as who was signed in.
    await screen.settle()
    await screen.press('Sign out')
    await screen.said('signed out')
    assert.equal(await screen.page.evaluate(() => sessionStorage.length), 0)
    await screen.close()
  }
}

/** Who is a guest of a team sees a part of it, and changes nothing but their own. */
async function playGuestOfTeam(browser, service) {
  const GIL = ['gil@example.com', 'change me first']
  const screen = await openPage(browser, service)
  await screen.signIn(...GIL)
  await compareRights(screen, service, await readToken(service, ...GIL))
  await screen.close()
}

const readToken = async (service, email, password) =>
  (await service.ask('POST', '/auth/login', { body: { email, password } })).body.token

const shownCollections = (page) => page.locator('nav.side a.inner').allTextContents()

const allowedCollections = async (service, token) =>
  (await service.ask('GET', '/', { token })).body.collections.map(({ name }) => name)

const shownDocuments = (page) =>
  page.locator('tbody th a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))

/** A team and its first admin hold only together: one step, or nothing. */
async function foundTeam(screen) {
  await screen.go('#/new/teams')
  await screen.fill('name', 'Green')
  await screen.press('Add in a batch…')
  await screen.go('#/new/memberships')
  await screen.heading('Add to memberships')
  await screen.refer('team', 'Green')
  await screen.choose('role', 'admin')
  await screen.fill('name', 'Flo')
  await screen.press('Add in a batch…')
  await screen.press('Run the batch')
  await screen.said('in one step')
}

async function invite(screen, email, role) {
  await screen.go('#/new/invitations')
  await screen.heading('Add to invitations')
  await screen.refer('team', 'Green')
  await screen.fill('email', email)
  await screen.choose('role', role)
  await screen.press('Add')
  await screen.said('Added')
}

async function accept(screen, name, role) {
  await screen.go('#/new/memberships')
  await screen.heading('Add to memberships')
  await screen.refer('team', 'Green')
  await screen.choose('role', role)
  await screen.fill('name', name)
  await screen.refer('invitation', 'member@')
  await screen.press('Add')
  await screen.said('Added')
}

async function addProject(screen) {
  await screen.go('#/new/projects')
  await screen.heading('Add to projects')
  await screen.refer('team', 'Green')
  await screen.fill('title', 'Orchard')
  await screen.choose('status', 'open')
  await screen.press('Add')
  await screen.heading('Orchard')
}

async function addTask(screen) {
  await screen.go('#/new/tasks')
  await screen.heading('Add to tasks')
  await screen.refer('project', 'Orchard')
  await screen.refer('team', 'Green')
  await screen.fill('title', 'Plant')
  await screen.press('Add')
  await screen.heading('Plant')
}

async function filterTasks({ page, go }) {
  await go('#/list/tasks')
  const key = page.getByRole('button', { name: 'open', exact: true })
  await key.click()
  await page.getByText('1 match').first().waitFor()
  assert.ok((await page.evaluate(() => location.hash)).includes('q[state]'))
  await page.reload()
  await page.getByText('1 match').first().waitFor()
  await key.click()
  await page.waitForFunction(() => !location.hash.includes('q[state]'))
  await page.getByRole('link', { name: 'Plant' }).waitFor()
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('button', { name: 'Add a condition' }).click()
  await page.getByLabel('Field', { exact: true }).selectOption('title')
  await page.locator('.condition input').fill('lan')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('1 match').first().waitFor()
  await page.getByRole('link', { name: 'Plant' }).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    (async () => {
      await page.getByRole('button', { name: 'Download' }).click()
      await page.getByRole('button', { name: /CSV/ }).click()
    })(),
  ])
  const stream = await download.createReadStream()
  const text = (await stream.toArray()).join('')
  assert.match(text, /^_id,title,.*\r\n[^\r]*,Plant,/)
}

/** Two write the same field: who comes second sees both, and decides. */
async function conflict(first, second, service) {
  await first.go('#/list/tasks')
  await first.page.getByRole('link', { name: 'Plant' }).click()
  await first.heading('Plant')
  const fragment = await first.page.evaluate(() => location.hash)
  await second.go(fragment)
  await second.heading('Plant')
  await first.page.getByRole('button', { name: 'Save' }).waitFor()
  await second.page.getByRole('button', { name: 'Save' }).waitFor()
  await first.fill('title', 'Plant apples')
  await first.press('Save')
  await first.said('Saved')
  // What did it stays in sight, though the document was read again.
  await first.page.locator('footer.last', { hasText: 'PATCH /tasks/' }).waitFor()
  await second.fill('title', 'Plant pears')
  await second.choose('state', 'done')
  await second.press('Save')
  await second.page.getByText('The document has changed since you opened it').waitFor()
  await second.page.getByLabel(/their value/).check()
  await second.press('Save these values')
  await second.said('Saved')
  const id = fragment.split('/').pop()
  const token = await readToken(service, 'founder@example.com', 'correct horse 1')
  const { title, state } = (await service.ask('GET', `/tasks/${id}`, { token })).body
  assert.deepEqual({ title, state }, { title: 'Plant apples', state: 'done' })
}

/** The page shows the documents that the API does, and offers for each what the API grants there. */
async function compareRights(screen, service, token) {
  await becomes(() => shownCollections(screen.page), await allowedCollections(service, token))
  const { collections } = (await service.ask('GET', '/', { token })).body
  for (const { name, operations } of collections) {
    if (!operations.includes('list')) continue
    const { body: documents } = await service.ask('GET', `/${name}?limit=25`, { token })
    await screen.go(`#/list/${name}`)
    await screen.heading(name)
    await becomes(
      () => shownDocuments(screen.page),
      documents.map(({ _id: id }) => `#/document/${name}/${id}`),
      name,
    )
    const canAdd = (await screen.page.locator('main header a', { hasText: 'Add' }).count()) > 0
    assert.equal(canAdd, operations.includes('create'), name)
    for (const { _id: id } of documents.slice(0, 3)) {
      const [update, remove] = [
        await service.ask('PATCH', `/${name}/${id}`, { token, headers: NEVER, body: {} }),
        await service.ask('DELETE', `/${name}/${id}`, { token, headers: NEVER }),
      ]
      await screen.go(`#/document/${name}/${id}`)
      await screen.page.locator('.facts code', { hasText: id }).waitFor()
      const offered = {
        update: (await screen.page.getByRole('button', { name: 'Save', exact: true }).count()) > 0,
        delete: (await screen.page.getByRole('button', { name: 'Delete', exact: true }).count()) > 0,
      }
      assert.deepEqual(
        offered,
        { update: update.status === 412, delete: remove.status === 412 },
        `${name}/${id}`,
      )
    }
  }
}

async function deleteTask({ page, go, press, said, heading }) {
  await go('#/list/tasks')
  await page.getByRole('link', { name: 'Plant apples' }).click()
  await heading('Plant apples')
  await press('Delete')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await press('Delete')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await said('Deleted')
}
