import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'

/** A connection of a service, and that to the server behind it. */
interface Pair {
  isSilent: boolean
}

/** Something between a service and its server that can swallow what is sent, as a cut cable does: nobody is told. */
export async function startProxy(to: string) {
  const { port } = new URL(to)
  const sockets = new Set<Socket>()
  const pairs = new Set<Pair>()
  let swallows = false
  let last: RegExp | undefined
  let left = 0
  const server = createServer((near) => {
    // What comes while it swallows is never connected to anything.
    if (swallows) {
      sockets.add(near)
      near.on('error', () => {})
      return
    }
    const far = connectTo(Number(port), '127.0.0.1')
    const pair: Pair = { isSilent: false }
    pairs.add(pair)
    for (const [from, next] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      let isDead = false
      from.on('data', (data) => {
        if (from === near && last?.test(data.toString('latin1')) && --left === 0) {
          last = undefined
          pair.isSilent = true
        }
        isDead ||= swallows
        // One that has lost something never works again.
        if (!isDead && !pair.isSilent) next.write(data)
      })
      from.on('error', () => {})
      from.on('close', () => {
        pairs.delete(pair)
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
    /** Swallows from now on what the connections that are there send and are sent; new ones work. */
    silence() {
      for (const pair of pairs) pair.isSilent = true
    },
    /** The same of the next connection that sends such a text, or of one behind it, with that text. */
    silenceAt(text: RegExp, times = 1) {
      last = text
      left = times
    },
    /** Whether this has not happened yet. */
    get isAwaited() {
      return last !== undefined
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
