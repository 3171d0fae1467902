import { namesIn } from '../../../client/answers.js'

/** What was done, and what of it was not, by the headers of the answer. */
export function describeDone(done: string, headers: Headers): string {
  const ignored = namesIn(headers)
  return ignored[0] ? `${done} without ${ignored.join(', ')}: you may not write that.` : `${done}.`
}
