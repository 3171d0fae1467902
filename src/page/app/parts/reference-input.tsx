import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { labelField, labelOf, shortId } from '../model/labels.js'
import { escapePattern } from '../model/list-query.js'
import { collected } from '../state/collected.js'
import { description } from '../state/description.js'
import { ask } from '../state/service.js'
import type { InputProps } from './field.js'
import { Text } from './value.js'

interface Option {
  readonly id: string
  readonly label: string
}

const MOST = 8

/** An `_id`. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The pause in typing before a search. */
const PAUSE = 200

/** A search field for the document of a reference; also accepts an `_id`. */
export function ReferenceInput({ field, draft, id, isWrong, describedBy, onChange }: InputProps) {
  const chosen = typeof draft === 'string' ? draft : ''
  const target = description.value?.collections.get(field.target ?? '')
  const [text, options] = [useSignal(''), useSignal<readonly Option[]>([])]
  /** The option with a known label: the last one that was chosen, or loaded. */
  const named = useSignal<Option>({ id: '', label: '' })
  const [isOpen, active] = [useSignal(false), useSignal(0)]
  /** The text for which the options were found. */
  const sought = useSignal<string | undefined>(undefined)
  const aborting = useRef<AbortController>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  useEffect(() => {
    let isChosen = true
    if (chosen !== named.peek().id) void findLabel(() => isChosen)
    return () => {
      isChosen = false
      clearTimeout(timer.current)
    }
  }, [chosen])

  async function findLabel(isChosen: () => boolean): Promise<void> {
    const pending = findCollected().find((one) => one.id === chosen)
    if (pending) named.value = pending
    else if (target && chosen !== '') {
      // Without an answer, the field shows the `_id`.
      const found = await ask((client) => client.collection(target.name).get(chosen), {
        note: 'the name of a reference',
      }).catch(() => undefined)
      if (found && isChosen()) named.value = { id: chosen, label: labelOf(target, found.value) }
    }
  }

  /** New documents in the batch. */
  const findCollected = (): readonly Option[] =>
    collected.value
      .filter((one) => one.method === 'PUT' && one.collection === field.target)
      .map((one) => ({ id: one.id ?? '', label: `${labelOf(target, { ...one.body, _id: one.id })} (new)` }))

  async function search(): Promise<void> {
    aborting.current?.abort()
    if (!target) return
    aborting.current = new AbortController()
    const { signal } = aborting.current
    clearTimeout(timer.current)
    const asked = text.value
    const by = labelField(target)?.name
    const canSearch = by !== undefined && target.filters.get(by)?.includes('$regex')
    const q =
      asked !== '' && canSearch ? { [by]: { $regex: escapePattern(asked), $options: 'i' } } : undefined
    try {
      const { value } = await ask(
        (client) =>
          client.collection(target.name).list({ ...(q ? { q } : {}), limit: MOST, signal } as never),
        { signal, note: 'documents for a reference' },
      )
      const found = value as unknown as readonly { readonly _id: string }[]
      options.value = [
        ...findCollected(),
        ...found.map((one) => ({ id: one._id, label: labelOf(target, one) })),
      ]
      active.value = 0
    } catch {
      if (signal.aborted) return
      options.value = findCollected()
    }
    sought.value = asked
  }

  const typed = (value: string): void => {
    text.value = value
    isOpen.value = true
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void search(), PAUSE)
  }
  const choose = (option: Option | undefined): void => {
    if (!option) return
    named.value = option
    onChange(option.id)
    isOpen.value = false
    text.value = ''
  }
  const close = (): void => {
    isOpen.value = false
    // An `_id` may be typed or pasted.
    if (ID.test(text.value)) onChange(text.value)
    text.value = ''
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen.value) typed(text.value)
      const { length } = options.value
      if (length > 0) active.value = (active.value + (event.key === 'ArrowDown' ? 1 : length - 1)) % length
    } else if (event.key === 'Enter' && isOpen.value && (text.value !== '' || options.value.length > 0)) {
      // Enter chooses only an option of the present text, and does not submit the form.
      event.preventDefault()
      if (sought.value !== text.value) void search()
      else choose(options.value[active.value])
    } else if (event.key === 'Escape' && isOpen.value) {
      event.preventDefault()
      isOpen.value = false
    }
  }
  return (
    <div class="combo">
      <input
        id={id}
        role="combobox"
        aria-expanded={isOpen.value}
        aria-controls={`${id}l`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen.value && options.value.length > 0 ? `${id}o${active.value}` : undefined}
        aria-invalid={isWrong}
        aria-describedby={describedBy}
        aria-required={field.isRequired}
        autocomplete="off"
        placeholder={field.target ? `search ${field.target}` : '_id'}
        value={isOpen.value ? text.value : named.value.id === chosen ? named.value.label : chosen}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => !isOpen.value && typed('')}
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={press}
        onBlur={close}
      />
      {chosen !== '' && (
        <button type="button" class="clear" aria-label={`Clear ${field.name}`} onClick={() => onChange('')}>
          ×
        </button>
      )}
      <div
        id={`${id}l`}
        role="listbox"
        aria-label={field.target ?? field.name}
        class="options"
        hidden={!isOpen.value || options.value.length === 0}
      >
        {options.value.map((option, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: see above
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are those of the input
          <div
            key={option.id}
            id={`${id}o${i}`}
            role="option"
            aria-selected={i === active.value}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(option)}
          >
            <Text text={option.label} isShort />
            <span class="faint mono">{shortId(option.id)}</span>
          </div>
        ))}
      </div>
    </div>
  )
}
