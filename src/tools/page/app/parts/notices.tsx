import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { failure, isOutdated } from '../state/description.js'
import { waiting } from '../state/service.js'

/** The last message. Screen readers announce it too. */
const said = signal('')
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows a message for 8 seconds. */
export function say(text: string): void {
  clearTimeout(timer)
  said.value = text
  timer = setTimeout(() => {
    said.value = ''
  }, 8000)
}

/** The last message, and the countdown to a retry. */
export const Notices = () => (
  <div class="notices">
    <div role="status" aria-live="polite">
      {said.value && <p class="toast">{said.value}</p>}
    </div>
    {waiting.value && (
      <div class="toast wait" role="alert">
        <p>
          {waiting.value.why} Trying again in {waiting.value.seconds} s.
        </p>
        <button type="button" onClick={waiting.value.tryNow}>
          Try now
        </button>
        <button type="button" class="quiet" onClick={waiting.value.giveUp}>
          Stop trying
        </button>
      </div>
    )}
  </div>
)

export const Problem = ({
  text,
  children,
}: {
  readonly text: string
  readonly children?: ComponentChildren
}) => (
  <div class="problem" role="alert">
    <p>{text}</p>
    {children}
  </div>
)

export const Loading = ({ what = 'Loading' }: { readonly what?: string }) => (
  <p class="loading" role="status">
    {what}…
  </p>
)

/** Says that something does not exist for this caller, or that the description of this caller is still loading. */
export const Absent = ({ text }: { readonly text: string }) =>
  isOutdated.value && failure.value === undefined ? <Loading /> : <p class="hint">{text}</p>
