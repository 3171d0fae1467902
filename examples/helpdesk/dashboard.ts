import { createClient, edges } from 'collection-service/client'

/** The tickets that a caller may read: in each status, with their priority, and on each day since a time. */
export async function readDashboard(as: Parameters<typeof createClient>[0], timeZone: string, since: Date) {
  const { aggregate } = createClient(as).collection('tickets')
  const days = edges('day', timeZone, since, new Date())
  return {
    byStatus: await aggregate({ by: { status: 'value' }, avg: ['priority'] }),
    byDay: await aggregate({ q: { createdAt: { $gte: days[0] ?? since } }, by: { createdAt: days } }),
  }
}
