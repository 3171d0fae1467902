import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { returning } from '../state/place.js'

interface Props {
  readonly title: ComponentChildren
  /** The title as a string, if `title` is not a string. */
  readonly name?: string
  readonly children?: ComponentChildren
}

let isFirst = true

/** The heading of a view. It gets the focus when the view opens, unless the focus returns to a link (`useReturn`). */
export function Heading({ title, name, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  const text = name ?? (typeof title === 'string' ? title : '')
  useEffect(() => {
    document.title = text
  }, [text])
  useEffect(() => {
    // The first view opens when the page loads. The focus then stays at the start of the page.
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

/** After Back, gives the focus to the link that was followed before, as soon as it is rendered. */
export function useReturn(isReady: boolean): void {
  useEffect(() => {
    const address = returning.peek()
    if (!isReady || address === undefined) return
    returning.value = undefined
    document.querySelector<HTMLElement>(`main a[href="${CSS.escape(address)}"]`)?.focus()
  }, [isReady])
}
