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
        if (fragment.includes('/list/')) await screen.page.locator('tbody tr').first().waitFor()
        if (fragment.includes('/document/')) await screen.page.getByRole('button', { name: 'Save' }).waitFor()
        const where = `${fragment}, ${width} ${scheme}`
        await screen.noSideways(where)
        await screen.checkAccess(where)
        if (fragment === '#/list/tasks') {
          await screen.press('Filter')
          await screen.press('Add a condition')
          await screen.checkAccess(`the filter, ${where}`)
          await screen.page.keyboard.press('Escape')
        }
        if (fragment.includes('/document/')) {
          await screen.press('Delete')
          await screen.checkAccess(`a question, ${where}`)
          await screen.page.keyboard.press('Escape')
        }
      }
      await screen.close()
    }
}

/** A task is found and changed without a pointer; the focus is seen, and is back where it was. */
export async function playKeyboard(browser, service) {
  const { page, go, signIn, heading, said, close } = await openPage(browser, service)
  await signIn('ann@example.com', 'correct horse')
  await go('#/list/tasks')
  await page.locator('tbody tr').first().waitFor()
  const reach = async (name) => {
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press('Tab')
      const found = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
        const { activeElement } = document
        return {
          text: activeElement.getAttribute('aria-label') ?? activeElement.textContent?.trim(),
          name: activeElement.getAttribute('name'),
          isSeen: outlineStyle !== 'none' && outlineWidth !== '0px',
        }
      })
      if (found.text !== name && found.name !== name) continue
      assert.ok(found.isSeen, `the focus on ${name} is not seen`)
      return
    }
    assert.fail(`${name} is not reached by keyboard`)
  }
  await reach('Dig')
  await page.keyboard.press('Enter')
  await heading('Dig')
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1')
  await page.getByRole('button', { name: 'Save' }).waitFor()
  await reach('title')
  await page.keyboard.type(' deeply')
  await page.keyboard.press('Enter')
  await said('Saved')
  await reach('Delete')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.activeElement.textContent === 'Delete')
  await page.goBack()
  await page.locator('tbody tr').first().waitFor()
  await page.waitForFunction(() =>
    document.activeElement.getAttribute('href')?.startsWith('#/document/tasks/'),
  )
  await close()
}
