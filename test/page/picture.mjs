import { findChromium, launch, openPage, serve } from './browser.mjs'

/** Makes the picture of the README anew: a list of `examples/teams`, light, 1200 pixels wide. */
const browser = await launch(findChromium())
const service = await serve('examples/teams/config.json', '--seed', 'examples/teams/documents.json')
const screen = await openPage(browser, service)
await screen.signIn('max@example.com', 'battery staple')
await screen.page.setViewportSize({ width: 1200, height: 560 })
await screen.go('#/list/projects')
await screen.page.locator('.groups').waitFor()
await screen.settle()
// The message of signing in is over by then.
await screen.page.locator('.toast').waitFor({ state: 'detached' })
// No row is lit.
await screen.page.mouse.move(0, 0)
await screen.page.screenshot({ path: '.github/page.png' })
await screen.close()
await service.stop()
await browser.close()
