import assert from 'node:assert/strict'
import { openPage } from '../browser.mjs'

const TASK = '0190163d-8694-7000-8000-000000005001'

const VIEWS = [
  ['#/', 'Collections'],
  ['#/account', 'Your account'],
  ['#/list/tasks', 'tasks'],
  ['#/list/projects?q[status]="open"', 'projects'],
  [`#/document/tasks/${TASK}`, 'Buy seeds'],
  ['#/new/projects', 'Add to projects'],
  ['#/requests', 'Requests'],
]

/** axe-core finds nothing, and nothing is wider than the window: each view, light and dark, large and small. */
export async function checkAccess(browser, service) {
  for (const width of [360, 1200])
    for (const scheme of ['light', 'dark']) {
      const screen = await openPage(browser, service, { width, scheme })
      await screen.checkAccess(`a guest, ${width} ${scheme}`)
      await screen.go('#/account')
      await screen.heading('Your account')
      await screen.checkAccess(`signing in, ${width} ${scheme}`)
      await screen.signIn('ann@example.com', 'correct horse')
      for (const [fragment, heading] of VIEWS) {
        await screen.go(fragment)
        await screen.heading(heading)
        if (fragment.includes('/list/')) await screen.page.locator('.groups').waitFor()
        if (fragment.includes('/document/')) await screen.page.getByRole('button', { name: 'Save' }).waitFor()
        const where = `${fragment}, ${width} ${scheme}`
        await screen.noSideways(where)
        await screen.checkAccess(where)
        if (fragment === '#/list/tasks') {
          await screen.press('Filter')
          await screen.press('Add a condition')
          await screen.page.locator('.condition').waitFor()
          await screen.checkAccess(`the filter, ${where}`)
        }
        if (fragment.includes('/document/')) {
          await screen.press('Delete')
          await screen.page.getByRole('dialog').waitFor()
          await screen.checkAccess(`a question, ${where}`)
        }
      }
      await screen.close()
    }
}

const FEAST = '/projects/0190163d-8694-7000-8000-000000004002'

/** A document is found and changed without a pointer; the focus is seen, and is where it was. */
export async function playKeyboard(browser, service) {
  const { page, go, isThere, heading, said, settle, close } = await openPage(browser, service)
  const find = () =>
    page.evaluate(() => {
      const { activeElement } = document
      const { outlineStyle, outlineWidth } = getComputedStyle(activeElement)
      return {
        text: activeElement.getAttribute('aria-label') ?? activeElement.textContent?.trim(),
        name: activeElement.getAttribute('name'),
        isSeen: outlineStyle !== 'none' && outlineWidth !== '0px',
      }
    })
  const reach = async (name) => {
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press('Tab')
      const found = await find()
      if (found.text !== name && found.name !== name) continue
      assert.ok(found.isSeen, `the focus on ${name} is not seen`)
      return
    }
    assert.fail(`${name} is not reached by keyboard`)
  }
  await go('#/account')
  await settle()
  await reachAll(page, 'the sign-in')
  await reach('email')
  await page.keyboard.type('max@example.com')
  await page.keyboard.press('Tab')
  await page.keyboard.type('battery staple')
  await page.keyboard.press('Enter')
  await isThere('max@example.com')
  for (const [fragment, title] of VIEWS) {
    await go(fragment)
    await heading(title)
    await settle()
    await reachAll(page, fragment)
  }
  await go('#/list/projects')
  await heading('projects')
  await page.locator('.groups').waitFor()
  await reach('Secret feast')
  await page.keyboard.press('Enter')
  await heading('Secret feast')
  await page.waitForFunction(() => document.activeElement.tagName === 'H1')
  await page.getByRole('button', { name: 'Save' }).waitFor()
  await reach('title')
  await page.keyboard.press('End')
  await page.keyboard.type(' in May')

  // Who goes on to write while it is stored, and read again, is not disturbed.
  const goOn = await hold(page, FEAST)
  await page.keyboard.press('Enter')
  await said('Saved')
  await page.keyboard.type(', or June')
  goOn()
  await heading('Secret feast in May')
  await settle()
  assert.equal((await find()).name, 'title')
  assert.equal(await page.locator('[name=title]').inputValue(), 'Secret feast in May, or June')
  await page.keyboard.press('Enter')
  await heading('Secret feast in May, or June')
  await settle()
  assert.equal((await find()).name, 'title')

  await reach('Delete')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.activeElement.textContent === 'Delete')
  await page.goBack()
  await page.waitForFunction(() =>
    document.activeElement.getAttribute('href')?.startsWith('#/document/projects/'),
  )
  await close()
}

/** All that can be used on a view is reached by one key, in a round, and each is seen to have the focus. */
async function reachAll(page, view) {
  const total = await page.evaluate(() => {
    const usable = 'a[href], button, input, select, textarea, summary, [tabindex="0"]'
    globalThis.usable = new Set(
      [...document.querySelectorAll(usable)].filter((one) => one.checkVisibility() && !one.disabled),
    )
    return globalThis.usable.size
  })
  // The browser's own end of the round is one step more.
  for (let i = 0; i < total + 2; i++) {
    await page.keyboard.press('Tab')
    const unseen = await page.evaluate(() => {
      const { activeElement } = document
      globalThis.usable.delete(activeElement)
      if (activeElement === document.body) return null
      const { outlineStyle, outlineWidth } = getComputedStyle(activeElement)
      return outlineStyle !== 'none' && outlineWidth !== '0px' ? null : activeElement.outerHTML
    })
    assert.equal(unseen, null, `on ${view} the focus is not seen`)
  }
  const left = await page.evaluate(() =>
    [...globalThis.usable].filter((one) => one.isConnected).map(({ outerHTML }) => outerHTML),
  )
  assert.deepEqual(left, [], `not all of ${view} is reached by keyboard`)
}

/** Holds back what is read at a path, until what it gives is called. */
async function hold(page, path) {
  let goOn
  const isOver = new Promise((resolve) => {
    goOn = resolve
  })
  await page.route(
    (url) => url.pathname === path,
    async (route) => {
      if (route.request().method() === 'GET') await isOver
      await route.continue()
    },
  )
  return goOn
}
