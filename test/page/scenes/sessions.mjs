import assert from 'node:assert/strict'
import { openPage } from '../browser.mjs'

const TASK = '#/document/tasks/0190163d-8694-7000-8000-000000005003'
const BOB = ['bob@example.com', 'change me second']

const dialogOf = ({ page }) => page.getByRole('dialog')

const keptBy = ({ page }) => page.evaluate(() => Object.values({ ...sessionStorage }))

/** A session that ends meanwhile: sign in, and go on at the same place with what was written. */
export async function playSessions(browser, service) {
  const screen = await openPage(browser, service)
  const { page } = screen
  await screen.signIn(...BOB)
  await screen.go(TASK)
  await page.getByRole('button', { name: 'Save' }).waitFor()
  await screen.fill('title', 'Paint it red')
  const endAll = async ([token]) => service.ask('POST', '/auth/logout-all', { token })
  await endAll(await keptBy(screen))
  const dialog = dialogOf(screen)
  // The page may have noticed by itself.
  await page.evaluate(() =>
    [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Save')?.click(),
  )
  await dialog.waitFor()
  assert.deepEqual(await keptBy(screen), [])
  await dialog.locator('input[name=email]').fill(BOB[0])
  await dialog.locator('input[name=password]').fill(BOB[1])
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).last().click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await page.evaluate(() => location.hash), TASK)
  const title = page.locator('input[name=title], textarea[name=title]')
  assert.equal(await title.inputValue(), 'Paint it red')
  await screen.press('Save')
  await screen.said('Saved')

  // A session that ended while the page was not there: one may go on without.
  const kept = await keptBy(screen)
  await page.goto('about:blank')
  await endAll(kept)
  await page.goto(service.page + TASK)
  await dialog.getByRole('button', { name: 'Continue without signing in' }).click()
  await page.getByText('you may not see it').waitFor()
  assert.equal(await page.evaluate(() => location.hash), TASK)
  assert.deepEqual(await keptBy(screen), [])
  await screen.close({ mayRefuse: true })

  // A wrong password is said in the form.
  const wrong = await openPage(browser, service)
  await wrong.go('#/account')
  await wrong.page.locator('input[name=email]').fill(BOB[0])
  await wrong.page.locator('input[name=password]').fill('nothing like it')
  await wrong.page.locator('main button[type=submit]').click()
  await wrong.page.getByRole('alert').waitFor()

  // So is one that was to be changed: the session goes on.
  await wrong.signIn(...BOB)
  await wrong.go('#/account')
  await wrong.page.getByText('this session').waitFor()
  await wrong.page.locator('input[name=current]').fill('nothing like it')
  await wrong.page.locator('input[name=new]').fill('another one 1')
  await wrong.page.locator('main form button[type=submit]').click()
  await wrong.page.getByText('The credentials are wrong').waitFor()
  assert.equal((await keptBy(wrong)).length, 1)
  assert.equal(await dialogOf(wrong).count(), 0)
  await wrong.close({ mayRefuse: true })
}

/** A service that is away, or busy: said, and tried again when it says so. */
export async function playAway(browser, service) {
  const { page, signIn, go, close } = await openPage(browser, service)
  await signIn('ann@example.com', 'correct horse')
  // What is said for a second is not missed.
  await page.evaluate(() => {
    globalThis.heard = new Set()
    new MutationObserver(() => {
      const alert = document.querySelector('.notices [role=alert] p')?.textContent
      if (alert) globalThis.heard.add(alert)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  })
  let asked = 0
  await page.route(/\/teams\?/, async (route) => {
    if (++asked > 3) return route.continue()
    return asked === 1
      ? route.abort()
      : route.fulfill({
          status: asked === 2 ? 503 : 429,
          headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
          body: JSON.stringify({ status: 503, code: 'overloaded', detail: 'busy', title: 'busy' }),
        })
  })
  await go('#/list/teams')
  await page.getByRole('link', { name: 'Red' }).waitFor()
  const heard = await page.evaluate(() => [...globalThis.heard])
  for (const text of ['cannot be reached', 'is busy. Trying again in 1 s'])
    assert.ok(
      heard.some((one) => one.includes(text)),
      `${text} is not said: ${heard}`,
    )
  assert.equal(asked, 4)

  // Who does not want to wait does not have to.
  let isAway = true
  await page.route(/\/memberships\?/, (route) => (isAway ? route.abort() : route.continue()))
  await go('#/list/memberships')
  await page.getByText('cannot be reached').waitFor()
  await page.getByRole('button', { name: 'Try now' }).click()
  isAway = false
  await page.locator('tbody tr').first().waitFor()
  await close()
}
