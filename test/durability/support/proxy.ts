import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'

/** Something between a service and its server that can swallow what is sent, as a cut cable does: nobody is told. */
export async function startProxy(to: string) {
  const { port } = new URL(to)
  const sockets = new Set<Socket>()
  let swallows = false
  const server = createServer((near) => {
    // What comes while it swallows is never connected to anything.
    if (swallows) {
      sockets.add(near)
      near.on('error', () => {})
      return
    }
    const far = connectTo(Number(port), '127.0.0.1')
    for (const [from, next] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      let isDead = false
      from.on('data', (data) => {
        isDead ||= swallows
        // One that has lost something never works again.
        if (!isDead) next.write(data)
      })
      from.on('error', () => {})
      from.on('close', () => {
        if (!swallows) next.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = new URL(to)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    swallow(whether: boolean) {
      swallows = whether
    },
    /** Resets every connection. */
    reset() {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
    async end() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
