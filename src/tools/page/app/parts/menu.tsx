import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Props {
  readonly name: string
  /** Text after the name, such as the number of active conditions. */
  readonly badge?: string
  readonly children: ComponentChildren
}

/** A button that opens a panel. Escape, or a click elsewhere, closes the panel. */
export function Menu({ name, badge, children }: Props) {
  const [isOpen, id] = [useSignal(false), useId()]
  const [whole, button] = [useRef<HTMLDivElement>(null), useRef<HTMLButtonElement>(null)]
  useEffect(() => {
    const leave = (event: Event): void => {
      if (!whole.current?.contains(event.target as Node)) isOpen.value = false
    }
    document.addEventListener('pointerdown', leave)
    return () => document.removeEventListener('pointerdown', leave)
  }, [])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only Escape is handled, which closes the panel
    <div
      class="menu"
      ref={whole}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen.value) return
        isOpen.value = false
        button.current?.focus()
      }}
    >
      <button
        type="button"
        class="quiet"
        ref={button}
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        {name}
        {badge && <span class="badge">{badge}</span>}
      </button>
      <div id={id} class="sheet" hidden={!isOpen.value}>
        {isOpen.value && children}
      </div>
    </div>
  )
}
