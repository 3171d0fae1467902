import { createClient } from 'collection-service/client'
import { useEffect, useState } from 'react'

interface Note {
  readonly _id: string
  readonly text?: string
}

const client = createClient('/api')

/** The list as it is now: undefined until it is there. Each new query begins another one. */
export function useLive(name: string, options: { sort?: object; limit?: number } = {}, service = client) {
  const [list, setList] = useState<readonly Note[]>()
  const [error, setError] = useState<unknown>()
  const asked = JSON.stringify(options)
  useEffect(() => {
    const controller = new AbortController()
    const follow = async () => {
      const { signal } = controller
      for await (const next of service.collection(name).live({ ...JSON.parse(asked), signal }))
        setList(next as never)
    }
    follow().catch(setError)
    return () => controller.abort()
  }, [name, asked, service])
  return { list, error }
}

export function Notes({ service }: { readonly service?: typeof client }) {
  const { list, error } = useLive('notes', { sort: { createdAt: 'desc' }, limit: 20 }, service)
  if (error) return <p role="alert">{String(error)}</p>
  return <ul>{list?.map(({ _id, text }) => <li key={_id}>{text}</li>) ?? 'Loading …'}</ul>
}
