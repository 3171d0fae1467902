import { fold } from '../model/requests/fold.js'
import { toClientLine, toCurl } from '../model/requests/request-lines.js'
import { count, describeAnswer, describeStatus } from '../model/words.js'
import { Heading } from '../parts/heading.js'
import { say } from '../parts/notices.js'
import { Text } from '../parts/value.js'
import { description } from '../state/description.js'
import { type Entry, requests } from '../state/requests.js'
import { base } from '../state/service.js'
import { token } from '../state/session.js'

/** Returns the names of all secret fields, whose values are hidden in copied requests. */
function secretNames(): ReadonlySet<string> {
  const { collections, forms } = description.value ?? { collections: new Map(), forms: new Map() }
  const all = [...forms.values(), ...collections.values()].flatMap((one) => [
    ...(one.fields ?? []),
    ...(one.createFields ?? []),
    ...(one.updateFields ?? []),
  ])
  return new Set(all.filter(({ kind }) => kind === 'secret').map(({ name }) => name))
}

/** The view with the log of requests. Each request can be copied as a command, to repeat it elsewhere. */
export function RequestsView() {
  const hidden = secretNames()
  return (
    <section>
      <Heading title="Requests" />
      <p class="hint">
        Each line is a request of the admin UI. Open it to copy it as a curl command, or as a call of the
        TypeScript client.
        {token.value !== undefined && (
          <>
            {' '}
            In the copy, <code>$TOKEN</code> stands for your token.
          </>
        )}
      </p>
      <ol class="requests">
        {fold(requests.value).map((group) => (
          <Group key={group.at(-1)?.id} group={group} hidden={hidden} />
        ))}
      </ol>
    </section>
  )
}

interface GroupProps {
  readonly group: readonly Entry[]
  readonly hidden: ReadonlySet<string>
}

/** One request, or a folded group of background requests with their number and their reasons. */
function Group({ group, hidden }: GroupProps) {
  const lines = group.map((entry) => <Line key={entry.id} entry={entry} hidden={hidden} />)
  if (lines.length === 1) return lines
  return (
    <li>
      <details>
        <summary class="beside note">
          <span>{count(lines.length, 'more request')} in the background</span>
          <span>{[...new Set(group.map(({ note }) => note))].join(' · ')}</span>
        </summary>
        <ol>{lines}</ol>
      </details>
    </li>
  )
}

export const kindOfStatus = (status: number | null): string =>
  status === null ? 'open' : status === 0 || status >= 500 ? 'bad' : status >= 400 ? 'refused' : 'good'

/** Decodes a query string for people; an invalid one is returned unchanged. */
export function legible(query: string): string {
  try {
    return decodeURIComponent(query)
  } catch {
    return query
  }
}

function Line({ entry, hidden }: { readonly entry: Entry; readonly hidden: ReadonlySet<string> }) {
  const { sent, status, milliseconds, at, note, isQuestion } = entry
  const code = toClientLine(sent, hidden)
  return (
    <li>
      <details>
        <summary>
          <code class="request">
            <b>{sent.method}</b> <Text text={sent.path + (sent.query ? `?${legible(sent.query)}` : '')} />
          </code>
          {note && <span class="note">{note}</span>}
          <span class={`status ${isQuestion ? '' : kindOfStatus(status)}`}>
            {status === null
              ? '…'
              : `${status || ''} ${isQuestion ? describeAnswer(status) : describeStatus(status)}`}
          </span>
          <span class="faint number">{status === null ? '' : `${milliseconds} ms`}</span>
          <time class="faint" dateTime={at.toISOString()}>
            {at.toLocaleTimeString()}
          </time>
        </summary>
        <Copied name="curl" text={toCurl(base, sent, hidden)} />
        {code && <Copied name="client" text={code} />}
      </details>
    </li>
  )
}

function Copied({ name, text }: { readonly name: string; readonly text: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied.')
    } catch {
      say('Copying failed. Select the text and copy it.')
    }
  }
  return (
    <div class="copied">
      <span class="faint">{name}</span>
      <pre>
        <code>{text}</code>
      </pre>
      <button
        type="button"
        class="quiet"
        aria-label={`Copy the line for ${name}`}
        onClick={() => void copy()}
      >
        Copy
      </button>
    </div>
  )
}
