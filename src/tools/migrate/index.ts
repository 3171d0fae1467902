export type { MigrateFailure, MigrateProgress, MigrateStep } from '../../core/migrate/run-steps.js'
export type { MigrateDocument, Migration, MigrationResult, Migrations } from '../../core/types.js'
export { type Migrated, type MigrateOptions, migrateCollections } from './migrate-collections.js'
