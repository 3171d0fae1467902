import { whenReady } from '../../promises.js'
import { notFound } from '../../request/refusals.js'
import { answerJson, NO_STORE } from '../answer.js'
import type { Endpoint } from './route.js'

/** `GET /_health/live`: the process answers (CONTRACT.md §7, "Health"). */
export const live: Endpoint = {
  isApart: true,
  run(call) {
    call.refuseQuery()
    return answerJson(200, { status: 'ok' }, NO_STORE)
  },
}

/** `GET /_health/ready`: whether requests can succeed (CONTRACT.md §7, "Health"). */
export const ready: Endpoint = {
  isApart: true,
  run(call, _, { health }) {
    call.refuseQuery()
    if (!health) throw notFound()
    return whenReady(health.check(), ({ status, checks }) =>
      answerJson(status === 'ok' ? 200 : 503, health.isDetailed ? { status, checks } : { status }, NO_STORE),
    )
  },
}
