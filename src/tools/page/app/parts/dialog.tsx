import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  /** Called when a person closes the dialog without a decision. */
  readonly onClose: () => void
  /** Whether the dialog completely hides the page below it. */
  readonly isAlone?: boolean
}

/**
 * A modal dialog. The browser keeps the focus inside. When the dialog closes, the focus returns to the previous
 * element.
 */
export function Dialog({ title, children, onClose, isAlone = false }: DialogProps) {
  const [dialog, id] = [useRef<HTMLDialogElement>(null), useId()]
  useEffect(() => {
    const shown = dialog.current
    const before = document.activeElement
    shown?.showModal()
    return () => {
      shown?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={isAlone ? 'alone' : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
