import { useSignal } from '@preact/signals'
import { isClientError } from '../../../../client/client.js'
import { labelOf } from '../model/labels.js'
import { Problem, say } from '../parts/notices.js'
import { Text } from '../parts/value.js'
import { type Collected, collected, doTogether } from '../state/collected.js'
import { description } from '../state/description.js'
import { explain } from '../state/problem.js'
import { epoch } from '../state/session.js'

const VERBS: { readonly [method in Collected['method']]: string } = {
  POST: 'add to',
  PUT: 'add to',
  PATCH: 'change in',
  DELETE: 'delete from',
}

/** The batch, with its operations and the button that runs them. */
export function Tray() {
  const [problem, isBusy] = [useSignal(''), useSignal(false)]
  const all = collected.value
  const remove = (i: number): void => {
    collected.value = all.filter((_, at) => at !== i)
    problem.value = ''
  }
  async function send(): Promise<void> {
    if (isBusy.value) return
    isBusy.value = true
    problem.value = ''
    try {
      await doTogether(all)
      collected.value = []
      say('The batch was saved in one step.')
      epoch.value++
    } catch (thrown) {
      const at =
        isClientError(thrown) && thrown.operation !== undefined ? `Operation ${thrown.operation + 1}: ` : ''
      const faults = isClientError(thrown)
        ? thrown.errors.map(({ path, message }) => ` ${path.split('/').pop()} ${message}.`)
        : []
      problem.value = `Nothing was saved. ${at}${explain(thrown)}${faults.join('')}`
    } finally {
      isBusy.value = false
    }
  }
  return (
    <aside class="tray" aria-label="Batch">
      <h2>Batch</h2>
      <p class="hint">All operations run in one step, or none.</p>
      <ol>
        {all.map(({ method, collection, id, body }, i) => (
          <li key={`${i} ${id}`}>
            <span>
              {VERBS[method]} <b>{collection}</b>{' '}
              {body && (
                <Text
                  text={labelOf(description.value?.collections.get(collection), { ...body, _id: id })}
                  isShort
                />
              )}
            </span>
            <button
              type="button"
              class="quiet"
              aria-label={`Remove operation ${i + 1}`}
              onClick={() => remove(i)}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      {problem.value && <Problem text={problem.value} />}
      <button type="button" class="main" aria-disabled={isBusy.value} onClick={() => void send()}>
        Run the batch
      </button>
    </aside>
  )
}
