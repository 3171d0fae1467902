import assert from 'node:assert/strict'
import { request } from 'node:https'

/**
 * Sends a request from an address of this machine, such as 127.0.0.2: a promise of `{ status, body }`. Each request has a
 * connection of its own.
 */
const askFrom = (address, url, { method = 'GET', headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method,
        localAddress: address,
        rejectUnauthorized: false,
        agent: false,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      },
      async (response) => {
        let text = ''
        for await (const part of response.setEncoding('utf8')) text += part
        resolve({ status: response.statusCode, headers: response.headers, body: text })
      },
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const PASSWORD = 'correct horse battery'

/** What an operator needs of a proxy. Each check gets the origin of the proxy and the running service. */
export const CHECKS_OF_OPERATION = {
  async 'ten wrong logins from one address, with forged headers'({ origin, service }) {
    const email = 'ann@example.com'
    const url = (path) => `${origin}/auth/${path}`
    const body = (password) => ({ method: 'POST', body: { email, password } })
    assert.equal((await askFrom('127.0.0.1', url('register'), body(PASSWORD))).status, 201)
    const wrong = []
    for (let i = 0; i < 11; i++) {
      const headers = { 'x-forwarded-for': `203.0.113.${i}`, forwarded: `for=203.0.113.${i}` }
      const sent = { ...body(`wrong ${i} password`), headers }
      wrong.push((await askFrom('127.0.0.2', url('login'), sent)).status)
    }
    assert.deepEqual(wrong, [...Array(10).fill(401), 429])
    assert.equal((await askFrom('127.0.0.2', url('login'), body(PASSWORD))).status, 429)
    assert.equal((await askFrom('127.0.0.1', url('login'), body(PASSWORD))).status, 200)
    // The line of a request is written when its response has ended.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const lines = service.printed
      .filter((line) => line.includes('/auth/login'))
      .map((line) => JSON.parse(line))
    assert.deepEqual([...new Set(lines.map(({ address }) => address))].sort(), ['127.0.0.1', '127.0.0.2'])
    return 'the 11th is a 429, from other addresses the account can log in, and log lines have the address'
  },
  async 'a body over `limits.bodyBytes`'({ origin }) {
    const body = { title: 'a'.repeat(1_200_000) }
    const answer = await askFrom('127.0.0.1', `${origin}/notes`, { method: 'POST', body })
    assert.equal(answer.status, 413)
    assert.equal(JSON.parse(answer.body).code, 'body_too_large')
    return 'the answer is the one of the service'
  },
  async 'a rolling restart of both processes, with requests during it'({ origin, service }) {
    const failed = []
    let sent = 0
    let created = 0
    let isRestarted = false
    const sendOthers = async () => {
      while (sent < 1000 || !isRestarted) {
        const index = sent++
        const isWrite = index % 4 === 0
        const options = isWrite ? { method: 'POST', body: { title: `during ${index}` } } : {}
        const answer = await askFrom(
          '127.0.0.1',
          `${origin}/notes${isWrite ? '' : '?limit=3'}`,
          options,
        ).catch((error) => ({ status: error.message }))
        if (answer.status === 201) created++
        else if (answer.status !== 200)
          failed.push(`${isWrite ? 'POST' : 'GET'} ${answer.status} ${answer.body}`)
        await new Promise((resolve) => setTimeout(resolve, 40))
      }
    }
    const restarts = (async () => {
      await service.restart(0)
      // The proxy must have seen that the first process is back.
      await new Promise((resolve) => setTimeout(resolve, 3000))
      await service.restart(1)
      isRestarted = true
    })()
    await Promise.all([...Array.from({ length: 8 }, sendOthers), restarts])
    if (failed.length > 0)
      process.stderr.write(
        `${service.printed.filter((line) => /"level":"(warn|error)"/.test(line)).join('\n')}\n`,
      )
    assert.deepEqual(failed, [])
    const count = await askFrom('127.0.0.1', `${origin}/notes/count?q[title][$regex]=^during`)
    assert.equal(JSON.parse(count.body).total, created)
    return 'at least 1,000 requests, none failed; each create is stored once'
  },
}
