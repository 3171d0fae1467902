export { createMemoryAdapter, type MemoryAdapterOptions } from './adapters/memory/memory-adapter.js'
export type { Consumer, ConsumerChange, ConsumerContext } from './consumers.js'
export { createCollectionService } from './create-collection-service.js'
export { defineConfig } from './define-config.js'
export {
  ConfigError,
  type ConfigFault,
  type ErrorCode,
  type Fault,
  isServiceError,
  ServiceError,
} from './errors.js'
export { compare, compileField, type Ordered } from './filter/compare.js'
export type { FieldRef, Filter, Scalar, ValueType } from './filter/filter.js'
export { compileFilter, matches } from './filter/matches.js'
export {
  type CollectionHooks,
  type HookApi,
  type HookChange,
  type HookOperation,
  type HookResult,
  type OptionsFor,
  refuse,
} from './hooks.js'
export type {
  CollectionName,
  CollectionsOf,
  CollectionTypes,
  CreateBodyOf,
  DocumentOf,
  UpdateBodyOf,
} from './infer/collections.js'
export type {
  CallOptions,
  Change,
  ChangePage,
  ChangeQuery,
  CollectionPlan,
  IndexPlan,
  Linked,
  LinkedFound,
  LinkedList,
  ListQuery,
  LogPlan,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteOptions,
  WriteResult,
  WriteStep,
} from './storage.js'
export type {
  Deliver,
  Delivery,
  Hasher,
  Logger,
  Observe,
  Page,
  RequestEvent,
  StorageCall,
} from './types/host.js'
export type {
  AuthConfig,
  Caller,
  CollectionConfig,
  Config,
  Document,
  FieldDefinition,
  GrantConfig,
  Handler,
  Limits,
  RuleConfig,
  ServiceOptions,
} from './types.js'
