import assert from 'node:assert/strict'
import { becomes, drive, openPage } from '../browser.mjs'

const TASK = '/tasks/0190163d-8694-7000-8000-000000005002'
const ANN = ['ann@example.com', 'correct horse']

/** What a tab asks after something was done in another one; what is given waits for it, and for all that follows. */
function hear({ page, settle }, path) {
  const asked = page.waitForResponse(
    (response) => response.request().method() === 'GET' && response.url().endsWith(path),
  )
  // Where the scene fails before, nobody waits for it.
  asked.catch(() => {})
  return () => asked.then(settle)
}

const titleOf = ({ page }) => page.locator('main input[name=title], main textarea[name=title]')

const isKept = async (screen) => assert.equal(await titleOf(screen).inputValue(), 'Dig deep')

/** What is done in a tab is seen in the others; each keeps what was written in it, and who it is. */
export async function playTabs(browser, service) {
  const first = await openPage(browser, service)
  const { page } = first
  await first.signIn(...ANN)
  await first.go('#/list/tasks')
  const open = async (options) => {
    const link = page.getByRole('link', { name: 'Dig' })
    const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click(options)])
    return drive(opened)
  }
  const [second, third] = [await open({ button: 'middle' }), await open({ modifiers: ['Control'] })]
  for (const tab of [second, third]) await tab.page.getByRole('button', { name: 'Save' }).waitFor()
  await first.heading('tasks')

  // What others changed is shown where nobody writes, and where somebody does, nothing is lost.
  await second.fill('title', 'Dig deep')
  await second.page.getByRole('button', { name: 'Undo' }).waitFor()
  await first.go(`#/document${TASK}`)
  await first.page.getByRole('button', { name: 'Save' }).waitFor()
  await first.choose('state', 'done')
  const again = hear(second, TASK)
  await first.press('Save')
  await first.said('Saved')
  await again()
  await third.page.waitForFunction(
    () => document.querySelector('select[name=state]').selectedOptions[0].text === 'done',
  )
  await isKept(second)
  await second.press('Save')
  await second.page.getByText('The document has changed since you opened it').waitFor()
  await second.press('Save these values')
  await second.said('Saved')
  await third.page.waitForFunction(() => document.querySelector('main h1').textContent === 'Dig deep')

  // A list without changes of its own, too.
  await first.go('#/list/projects')
  await first.page.getByRole('link', { name: 'Garden' }).waitFor()
  await third.go('#/document/projects/0190163d-8694-7000-8000-000000004001')
  await third.page.getByRole('button', { name: 'Save' }).waitFor()
  await third.fill('title', 'Orchard')
  await third.press('Save')
  await first.page.getByRole('link', { name: 'Orchard' }).waitFor()

  await leaveInOne(first, second, third)

  // A tab of its own is a caller of its own.
  const other = drive(await page.context().newPage())
  await other.page.goto(service.page)
  await other.page.locator('main h1').waitFor()
  await becomes(() => other.page.locator('nav.side a.inner').count(), 0)
  const heard = hear(second, '/_openapi.json')
  await other.signIn('max@example.com', 'battery staple')
  await heard()
  const whoIs = ({ page }) => page.getByRole('navigation', { name: 'Account' }).textContent()
  assert.equal(await whoIs(second), ANN[0])
  assert.equal(await whoIs(other), 'max@example.com')
  await first.close({ mayRefuse: true })
}

/** Who signs out in one tab is signed out in all that had this session; nothing is left there for anybody else. */
async function leaveInOne(first, second, third) {
  await second.fill('title', 'Dig deeper')
  await third.go(`#/document${TASK}`)
  await third.page.getByRole('button', { name: 'Save' }).waitFor()
  await third.fill('title', 'Dig no more')
  await third.press('Save in a batch…')
  await third.page.getByRole('heading', { name: 'Batch' }).waitFor()
  await first.go('#/account')
  await first.press('Sign out')
  for (const { page } of [second, third]) {
    await page.getByRole('dialog').waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
    const [shade, ground] = await page.evaluate(() => [
      getComputedStyle(document.querySelector('dialog'), '::backdrop').backgroundColor,
      getComputedStyle(document.body).backgroundColor,
    ])
    assert.equal(shade, ground)
  }
  await signInAgain(second, ...ANN)
  assert.equal(await titleOf(second).inputValue(), 'Dig deeper')
  await second.press('Save')
  await second.heading('Dig deeper')
  await signInAgain(third, 'max@example.com', 'battery staple')
  await third.page.getByRole('button', { name: 'Save' }).waitFor()
  await becomes(() => titleOf(third).inputValue(), 'Dig deeper')
  assert.equal(await third.page.getByRole('heading', { name: 'Batch' }).count(), 0)
  await third.go('#/requests')
  await third.heading('Requests')
  const asked = third.page.locator('.requests li')
  await asked.first().waitFor()
  assert.equal(await asked.filter({ hasText: /PATCH.*projects/ }).count(), 0)
}

async function signInAgain({ page }, email, password) {
  const dialog = page.getByRole('dialog')
  await dialog.locator('input[name=email]').fill(email)
  await dialog.locator('input[name=password]').fill(password)
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).last().click()
  await dialog.waitFor({ state: 'detached' })
}
