import type { Page } from '../../core/types/host.js'
import document from './app/main.tsx?document'

/**
 * Creates the admin UI, which `createCollectionService` serves at `GET /_page` if it is passed as `options.page`
 * (CONTRACT.md §11). It is one HTML document without external resources, the same for everyone. It uses the API as any
 * client does, with the permissions of the signed-in user. Never throws.
 *
 * @example
 * ```ts
 * const service = createCollectionService(config, adapter, { page: createPage() })
 * ```
 */
export const createPage = (): Page => document
