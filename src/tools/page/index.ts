import type { Page } from '../../core/types/host.js'
import document from './app/main.tsx?document'

/**
 * Creates the admin UI, which `createCollectionService` serves at `GET /_page` if it is passed as `options.page`
 * (CONTRACT.md §11): one HTML document without external resources, and an ordinary client without rights of its own.
 * The document is the same for everyone. Never throws.
 *
 * @example
 * ```ts
 * const service = createCollectionService(config, adapter, { page: createPage() })
 * ```
 */
export const createPage = (): Page => document
