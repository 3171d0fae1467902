import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { returning } from '../state/place.js'

interface Props {
  readonly title: ComponentChildren
  /** The title as text, where it is not one. */
  readonly name?: string
  readonly children?: ComponentChildren
}

let isFirst = true

/** The heading of a view. It takes the focus when the view comes, unless one is back where one left a link. */
export function Heading({ title, name, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  const text = name ?? (typeof title === 'string' ? title : '')
  useEffect(() => {
    document.title = text
  }, [text])
  useEffect(() => {
    // The first view comes with the document itself, whose beginning has the focus.
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

/** Gives the focus back to the link that led away, once it is there. */
export function useReturn(isReady: boolean): void {
  useEffect(() => {
    const address = returning.peek()
    if (!isReady || address === undefined) return
    returning.value = undefined
    document.querySelector<HTMLElement>(`main a[href="${CSS.escape(address)}"]`)?.focus()
  }, [isReady])
}
