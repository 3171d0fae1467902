import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test, vi } from 'vitest'

// CONTRACT.md §4, "Secrets": the hasher of a service without the option

const config = {
  auth: { cost: 10 },
  collections: {
    users: { schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } } },
  },
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

/** The statuses of a registration, a login and one with a wrong secret, of a package that is loaded now. */
async function logIn(): Promise<readonly number[]> {
  vi.resetModules()
  const { createCollectionService } = await import('../../src/index.js')
  const service = createCollectionService(config, undefined, { logger: { info() {}, warn() {}, error() {} } })
  const send = async (route: string, password: string): Promise<number> => {
    const { status } = await service(
      new Request(`http://localhost/auth/${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'ann', password }),
      }),
    )
    return status
  }
  return [
    await send('register', 'correct horse'),
    await send('login', 'correct horse'),
    await send('login', 'battery staple'),
  ]
}

const serveThreads = (threads: unknown) =>
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ Worker: threads } as never)

test('one thread of the process hashes', async () => {
  let threads = 0
  serveThreads(
    class extends Worker {
      constructor(url: URL) {
        super(url)
        threads += 1
      }
    },
  )
  expect(await logIn()).toEqual([201, 200, 401])
  expect(threads).toBe(1)
})

describe('without a thread, the process itself hashes', () => {
  test('where threads are not permitted', async () => {
    const refused = vi.fn()
    serveThreads(
      class {
        constructor() {
          refused()
          throw new Error('Access to this API has been restricted')
        }
      },
    )
    expect(await logIn()).toEqual([201, 200, 401])
    expect(refused).toHaveBeenCalled()
  })

  test('where there is no Node', async () => {
    vi.stubGlobal('process', { ...process, getBuiltinModule: undefined })
    expect(await logIn()).toEqual([201, 200, 401])
  })

  test.each(['bun', 'deno'])('in %s, which has the module too', async (runtime) => {
    const asked = vi.fn()
    vi.stubGlobal('process', {
      ...process,
      versions: { ...process.versions, [runtime]: '1.0.0' },
      getBuiltinModule: asked,
    })
    expect(await logIn()).toEqual([201, 200, 401])
    expect(asked).not.toHaveBeenCalledWith('node:worker_threads')
  })
})
