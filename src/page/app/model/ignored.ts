import { namesIn } from '../../../client/answers.js'

/** The outcome of a write, and the properties that were dropped, by the headers of the answer. */
export function describeDone(done: string, headers: Headers): string {
  const ignored = namesIn(headers)
  return ignored[0] ? `${done} without ${ignored.join(', ')}: you may not write that.` : `${done}.`
}
