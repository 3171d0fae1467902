import { namesIn } from '../../../../client/answers.js'

/** Returns the message after a write. It names the properties that, according to `headers`, the service has dropped. */
export function describeDone(done: string, headers: Headers): string {
  const ignored = namesIn(headers)
  return ignored[0] ? `${done} without ${ignored.join(', ')}: you may not write these fields.` : `${done}.`
}
