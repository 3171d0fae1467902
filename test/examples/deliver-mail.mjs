import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from './expect.mjs'

/** A mail server with the package that a project has installed, and the letters that it got. */
export async function startMailServer(project) {
  const { SMTPServer } = createRequire(join(project, 'package.json'))('smtp-server')
  const letters = []
  const waiting = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    async onData(stream, { envelope }, done) {
      const raw = await text(stream)
      const [, subject] = /^Subject: (.*)\r$/m.exec(raw)
      const plain = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=')
      const [, token] = /#token=([\w-]{43})(?![\w-])/.exec(plain) ?? []
      letters.push({ to: envelope.rcptTo.map(({ address }) => address), subject, token })
      done()
      waiting.shift()?.()
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${server.server.address().port}`,
    /** The next letter that nobody has read. */
    async next() {
      if (letters.length === 0) await new Promise((resolve) => waiting.push(resolve))
      return letters.shift()
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** What examples/deliver-mail.ts promises. */
export async function useMail(origin, mail) {
  const email = 'ann@example.com'
  const ask = async (way, body) => {
    const answer = await fetch(`${origin}/auth/${way}`, { method: 'POST', body: JSON.stringify(body) })
    const said = await answer.text()
    return [answer.status, said && JSON.parse(said)]
  }
  const letter = async (subject) => {
    const { token, ...head } = await mail.next()
    expect('the next letter', head, { to: [email], subject })
    return token
  }
  const account = { email: ' Ann@Example.com', password: 'correct horse' }
  const login = async (password) => (await ask('login', { email, password }))[0]

  expect('a registration', await ask('register', { ...account, name: 'evil.example' }), [202, {}])
  const token = await letter('Is this your address?')
  expect('a second one', await ask('register', account), [202, {}])
  await mail.next()
  const verified = await ask('verify', { token, current: account.password })
  expect('the address is verified', verified, [204, ''])
  await letter('Welcome')
  expect('and now there is a login', await login(account.password), 200)
  expect('the same, taken', await ask('register', account), [202, {}])
  await letter('You have an account')

  expect('a reset', await ask('request-reset', { email }), [202, {}])
  expect('a reset for nobody', await ask('request-reset', { email: 'bob@example.com' }), [202, {}])
  const reset = { token: await letter('A new password'), new: 'another horse' }
  const [status, { user }] = await ask('reset', reset)
  expect('a new password', [status, user.email], [200, email])
  expect('the old one and the new one', [await login(account.password), await login(reset.new)], [401, 200])
  expect('a token twice', (await ask('reset', reset))[1].code, 'invalid_delivered_token')
}
