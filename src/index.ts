export { createMemoryAdapter, type MemoryAdapterOptions } from './adapters/memory/memory-adapter.js'
export { createCollectionService } from './create-collection-service.js'
export {
  ConfigError,
  type ConfigFault,
  type ErrorCode,
  type Fault,
  isServiceError,
  ServiceError,
} from './errors.js'
export type { FieldRef, Filter } from './filter/filter.js'
export { matches } from './filter/matches.js'
export type {
  CollectionPlan,
  IndexPlan,
  ListQuery,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from './storage.js'
export type {
  AuthConfig,
  Caller,
  CollectionConfig,
  Config,
  Document,
  FieldDefinition,
  GrantConfig,
  Handler,
  Hasher,
  Limits,
  Logger,
  RuleConfig,
  ServiceOptions,
} from './types.js'
