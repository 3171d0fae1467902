import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { DescribedCollection } from '../../model/description.js'
import { labelField } from '../../model/labels.js'
import type { ListQuery } from '../../model/list-query.js'
import { count } from '../../model/words.js'
import { Menu } from '../../parts/menu.js'
import { Problem, say } from '../../parts/notices.js'
import { download, type Format } from '../../state/download.js'
import { explain, isAborted } from '../../state/problem.js'

interface Props {
  readonly collection: DescribedCollection
  readonly query: ListQuery
  readonly columns: readonly string[]
}

/** The menu that downloads all matching documents as a file. */
export function Download({ collection, query, columns }: Props) {
  const [done, problem] = [useSignal<number | undefined>(undefined), useSignal('')]
  const ending = useRef<AbortController>(undefined)
  const label = labelField(collection)?.name
  const all = ['_id', ...(label ? [label] : []), ...columns]

  async function begin(format: Format): Promise<void> {
    if (done.value !== undefined) return
    ending.current = new AbortController()
    problem.value = ''
    done.value = 0
    try {
      const { signal } = ending.current
      const tell = (n: number): void => {
        done.value = n
      }
      const n = await download(collection, { query, format, columns: all, signal, tell })
      say(`${count(n, 'document')} downloaded.`)
    } catch (thrown) {
      if (!isAborted(thrown)) problem.value = `${explain(thrown)} The incomplete download was discarded.`
    } finally {
      done.value = undefined
    }
  }
  return (
    <Menu name="Download">
      <p class="hint">All matching documents, on all pages.</p>
      {done.value === undefined ? (
        <div class="actions">
          <button type="button" onClick={() => void begin('csv')}>
            CSV, for spreadsheets
          </button>
          <button type="button" onClick={() => void begin('json')}>
            JSON
          </button>
        </div>
      ) : (
        <div class="actions">
          <p role="status">{count(done.value, 'document')}…</p>
          <button type="button" class="quiet" onClick={() => ending.current?.abort()}>
            Stop
          </button>
        </div>
      )}
      {problem.value && <Problem text={problem.value} />}
    </Menu>
  )
}
