export { createMemoryAdapter, type MemoryAdapterOptions } from './adapters/memory/memory-adapter.js'
export type { Consumer, ConsumerChange, ConsumerContext } from './core/consumers/types.js'
export { createCollectionService } from './core/create-service.js'
export { defineConfig } from './core/define-config.js'
export {
  ConfigError,
  type ConfigFault,
  type ErrorCode,
  type Fault,
  isServiceError,
  ServiceError,
} from './core/errors.js'
export { compare, compileField, type Ordered } from './core/filter/compare.js'
export type { FieldRef, Filter, Scalar, ValueType } from './core/filter/filter.js'
export { compileFilter, matches } from './core/filter/matches.js'
export {
  type CollectionHooks,
  type HookApi,
  type HookChange,
  type HookOperation,
  type HookReader,
  type HookResult,
  type OptionsFor,
  refuse,
} from './core/hooks/types.js'
export { type ForwardedOptions, forwardedAddress } from './core/http/forwarded-address.js'
export type {
  CallOptions,
  Change,
  ChangePage,
  ChangeQuery,
  CollectionPlan,
  IndexPlan,
  LeftIndex,
  Linked,
  LinkedFound,
  LinkedList,
  ListedTogether,
  ListQuery,
  LogPlan,
  Snapshot,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteOptions,
  WriteResult,
  WriteStep,
} from './core/storage.js'
export type {
  Deliver,
  Delivery,
  Hasher,
  Health,
  HealthCheck,
  Logger,
  Observe,
  Page,
  RequestEvent,
  StorageCall,
} from './core/types/host.js'
export type {
  AuthConfig,
  Caller,
  CollectionConfig,
  CollectionService,
  Config,
  Connection,
  Document,
  FieldDefinition,
  GrantConfig,
  Handler,
  IdentifiedCaller,
  IdentifiedClaim,
  Limits,
  RuleConfig,
  RulesConfig,
  ServiceOptions,
  SystemOptions,
} from './core/types.js'
export type {
  CollectionName,
  CollectionsOf,
  CollectionTypes,
  CreateBodyOf,
  DocumentOf,
  UpdateBodyOf,
} from './infer/collections.js'
