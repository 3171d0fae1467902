import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { splitHosts } from '../../src/adapters/postgres/connection/hosts.js'
import { parseCommand, secondsOfStop } from './support/command-line.js'

/** The manifests for several machines: their syntax, and that their commands are understood. */

const folder = new URL('../../examples/several-machines/', import.meta.url)
const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8')

/** What a command line serves, to one proxy in front of it. */
function parse(command: readonly string[], database = '') {
  const parsed = parseCommand(command, { '$(DATABASE_URL)': database })
  if (parsed.storage?.kind !== 'database') throw new Error('it serves no database')
  expect(parsed.proxies).toMatchObject({ trust: 1 })
  return { ...parsed, url: parsed.storage.url, stop: secondsOfStop(parsed) }
}

interface Composition {
  readonly services: {
    readonly service: {
      readonly command: readonly string[]
      readonly ports: readonly string[]
      readonly networks: readonly string[]
      readonly stop_grace_period: string
      readonly healthcheck: { readonly test: readonly string[] }
    }
  }
  readonly networks: object
}

test('compose.yaml serves a cluster by two processes', async () => {
  const { services, networks }: Composition = parseYaml(await read('compose.yaml'))
  const { url, processes, host, port, stop } = parse(services.service.command)
  expect([processes, host]).toEqual([2, '0.0.0.0'])
  expect(splitHosts(url).urls).toHaveLength(3)
  expect(services.service.ports).toEqual([`3000:${port}`])
  expect(services.service.healthcheck.test.at(-1)).toBe(`http://127.0.0.1:${port}/_health/ready`)
  expect(Number.parseInt(services.service.stop_grace_period, 10)).toBeGreaterThan(stop)
  expect(services.service.networks).toEqual(expect.arrayContaining(Object.keys(networks)))
})

test('kubernetes.yaml leads to pods that are there', async () => {
  const texts = (await read('kubernetes.yaml')).split(/^---$/m)
  const [service, deployment] = texts.map((text): Manifest => parseYaml(text))
  if (!service || !deployment) throw new Error('there are two manifests')
  expect([service.kind, deployment.kind]).toEqual(['Service', 'Deployment'])
  const { template, selector, replicas } = deployment.spec
  expect(replicas).toBe(3)
  expect(template?.metadata.labels).toMatchObject(service.spec.selector)
  expect(template?.metadata.labels).toMatchObject(selector.matchLabels as object)
  const [container] = template?.spec.containers ?? []
  const { port, stop } = parse(container?.command ?? [], 'postgres://a,b,c/app')
  expect(template?.spec.terminationGracePeriodSeconds).toBeGreaterThan(stop)
  expect(container?.env.map(({ name }) => name)).toEqual(['NODE_ENV', 'DATABASE_URL'])
  expect(container?.ports).toEqual([{ containerPort: port }])
  expect(container?.livenessProbe.httpGet).toEqual({ path: '/_health/live', port })
  expect(container?.readinessProbe.httpGet).toEqual({ path: '/_health/ready', port })
  // Longer than the service waits for its storage.
  expect(container?.readinessProbe.timeoutSeconds).toBeGreaterThan(2)
  expect(service.spec.ports).toMatchObject([{ targetPort: port }])
})

interface Manifest {
  readonly kind: string
  readonly spec: {
    readonly selector: { readonly [name: string]: unknown }
    readonly ports?: readonly object[]
    readonly replicas?: number
    readonly template?: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly {
          readonly command: readonly string[]
          readonly env: readonly { readonly name: string }[]
          readonly ports: readonly object[]
          readonly livenessProbe: { readonly httpGet: object }
          readonly readinessProbe: { readonly httpGet: object; readonly timeoutSeconds: number }
        }[]
      }
    }
  }
}
