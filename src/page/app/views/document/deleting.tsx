import { useSignal } from '@preact/signals'
import { Dialog } from '../../parts/dialog.js'
import { Problem, say } from '../../parts/notices.js'
import { collected } from '../../state/collected.js'
import { go } from '../../state/place.js'
import { explain, hasCode } from '../../state/problem.js'
import type { LoadedDocument } from '../../state/read-document.js'
import { ask } from '../../state/service.js'

interface Props {
  readonly name: string
  readonly label: string
  readonly found: LoadedDocument
  readonly reload: () => void
}

/** The button and the dialog that delete a document. */
export function Deleting({ name, label, found, reload }: Props) {
  const [isAsking, problem, isBusy] = [useSignal(false), useSignal(''), useSignal(false)]
  const { document, etag } = found
  const leave = (): void => {
    isAsking.value = false
    problem.value = ''
  }
  async function remove(): Promise<void> {
    if (isBusy.value) return
    isBusy.value = true
    try {
      await ask((client) => client.collection(name).delete(document._id), { headers: { 'if-match': etag } })
      leave()
      say('Deleted.')
      go({ view: 'list', collection: name, query: '' }, true)
    } catch (thrown) {
      problem.value = explain(thrown)
      if (hasCode(thrown, 'precondition_failed')) {
        problem.value = 'The document was changed meanwhile. Check it again.'
        reload()
      }
    } finally {
      isBusy.value = false
    }
  }
  const collect = (): void => {
    collected.value = [
      ...collected.value,
      { method: 'DELETE', collection: name, id: document._id, ifMatch: etag },
    ]
    leave()
    say('In the batch. Nothing is deleted yet.')
  }
  return (
    <>
      <button
        type="button"
        class="quiet danger"
        onClick={() => {
          isAsking.value = true
        }}
      >
        Delete
      </button>
      {isAsking.value && (
        <Dialog title="Delete this document?" onClose={leave}>
          <p>
            <bdi>{label.slice(0, 200)}</bdi> will be deleted. This cannot be undone.
          </p>
          {problem.value && <Problem text={problem.value} />}
          <div class="actions">
            <button
              type="button"
              class="danger main"
              aria-disabled={isBusy.value}
              onClick={() => void remove()}
            >
              Delete
            </button>
            <button type="button" onClick={leave}>
              Cancel
            </button>
            <button type="button" class="quiet" onClick={collect}>
              Delete in a batch…
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
