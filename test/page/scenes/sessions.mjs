import assert from 'node:assert/strict'
import { openPage } from '../browser.mjs'

const TASK = '#/document/tasks/0190163d-8694-7000-8000-000000005001'

/** A session that ends meanwhile: sign in, and go on at the same place with what was written. */
export async function playSessions(browser, service) {
  const screen = await openPage(browser, service)
  await screen.signIn('ann@example.com', 'correct horse')
  await screen.go(TASK)
  await screen.page.getByRole('button', { name: 'Save' }).waitFor()
  await screen.fill('title', 'Buy many seeds')
  const token = await screen.page.evaluate(() => Object.values({ ...sessionStorage })[0])
  await service.ask('POST', '/auth/logout-all', { token })
  const dialog = screen.page.getByRole('dialog')
  // The page may have noticed by itself.
  await screen.page.evaluate(() =>
    [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Save')?.click(),
  )
  await dialog.waitFor()
  assert.equal(await screen.page.evaluate(() => sessionStorage.length), 0)
  await dialog.locator('input[name=email]').fill('ann@example.com')
  await dialog.locator('input[name=password]').fill('correct horse')
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).last().click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await screen.page.evaluate(() => location.hash), TASK)
  const title = screen.page.locator('input[name=title], textarea[name=title]')
  assert.equal(await title.inputValue(), 'Buy many seeds')
  await screen.press('Save')
  await screen.said('Saved')

  // A session that ended while nobody looked: one may go on without.
  const kept = await screen.page.evaluate(() => Object.values({ ...sessionStorage })[0])
  await service.ask('POST', '/auth/logout-all', { token: kept })
  await screen.page.reload()
  await dialog.getByRole('button', { name: 'Go on as a guest' }).click()
  await screen.page.getByText('not for you to see').waitFor()
  assert.equal(await screen.page.evaluate(() => location.hash), TASK)

  // A wrong password is said in the form.
  const wrong = await openPage(browser, service)
  await wrong.go('#/account')
  await wrong.page.locator('input[name=email]').fill('ann@example.com')
  await wrong.page.locator('input[name=password]').fill('nothing like it')
  await wrong.page.locator('main button[type=submit]').click()
  await wrong.page.getByRole('alert').waitFor()
  await wrong.close({ mayRefuse: true })
  await screen.close({ mayRefuse: true })
}

/** A service that is away, or busy: said, and tried again when it says so. */
export async function playAway(browser, service) {
  const { page, signIn, go, close } = await openPage(browser, service)
  await signIn('ann@example.com', 'correct horse')
  let refusals = 0
  await page.route('**/teams?**', async (route) => {
    if (++refusals > 2) return route.continue()
    return refusals === 1
      ? route.abort()
      : route.fulfill({
          status: refusals === 2 ? 503 : 429,
          headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
          body: JSON.stringify({ status: 503, code: 'overloaded', detail: 'busy', title: 'busy' }),
        })
  })
  await go('#/list/teams')
  await page.getByText('cannot be reached').waitFor()
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.getByText('is busy').waitFor()
  await page.getByRole('link', { name: 'Red' }).waitFor()
  assert.equal(refusals, 3)
  await close()
}
