import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { returning } from '../state/place.js'

interface Props {
  readonly title: ComponentChildren
  /** The title as text, if `title` is not text. */
  readonly name?: string
  readonly children?: ComponentChildren
}

let isFirst = true

/** The heading of a view. It takes the focus when the view opens, unless a link gets the focus back. */
export function Heading({ title, name, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  const text = name ?? (typeof title === 'string' ? title : '')
  useEffect(() => {
    document.title = text
  }, [text])
  useEffect(() => {
    // The first view opens with the document, which has the focus at its start.
    if (!isFirst && returning.peek() === undefined) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <header class="heading">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children && <div class="tools">{children}</div>}
    </header>
  )
}

/** Gives the focus back to the link that was followed, once it is rendered. */
export function useReturn(isReady: boolean): void {
  useEffect(() => {
    const address = returning.peek()
    if (!isReady || address === undefined) return
    returning.value = undefined
    document.querySelector<HTMLElement>(`main a[href="${CSS.escape(address)}"]`)?.focus()
  }, [isReady])
}
