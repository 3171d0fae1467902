export { type ApiOptions, describeApi } from '../openapi/describe-api.js'
export type { ApiDocument } from '../openapi/describe-service.js'
export { checkConfig } from './check/check-config.js'
export { checkSeed } from './check/check-seed.js'
export type { FindingCode, Level } from './check/codes.js'
export type { Twins } from './check/data/check-data.js'
export { checkData, type StoredMisfit, type StoredReport } from './check/data/check-data.js'
export { checkMigrations, type PendingMigration, type PendingStep } from './check/data/pending-steps.js'
export type { StoredCount, StoredDocuments } from './check/data/stored-documents.js'
export type { Finding } from './check/finding.js'
export { comparePermissions } from './diff/compare-permissions.js'
export { type DifferenceFormat, describeDifferences } from './diff/describe-differences.js'
export type {
  Difference,
  DocumentOperation,
  PermissionDifference,
  StructureDifference,
  UndecidedDifference,
  Witness,
  WitnessCaller,
} from './diff/types.js'
export { explainRequest } from './explain/explain-request.js'
export type {
  DroppedProperty,
  ExplainedAnswer,
  ExplainedRequest,
  Explanation,
  JudgedComparison,
  JudgedCondition,
  JudgedGroup,
  JudgedRule,
  Judgement,
  MissingRight,
  RuleVerdict,
  Suggestion,
} from './explain/explanation.js'
export { permissionMatrix } from './matrix/permission-matrix.js'
export type {
  CallerMatrix,
  CollectionMatrix,
  MatrixCaller,
  MatrixClaim,
  MatrixCondition,
  MatrixFields,
  MatrixRule,
  PermissionMatrix,
} from './matrix/types.js'
export type { InsightOptions } from './options.js'
