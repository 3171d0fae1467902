// A program of the guide that listens takes a free port, and ends when nothing else keeps it.
import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function listenFreely() {
  return listen.call(this, 0).unref()
}
