import type { Check } from '../scope.js'
import { findUnfillable, findUnsettable } from './fields.js'
import { findUnindexed } from './indexes.js'
import { findImpossibleSubjects, findMistakenSubjects, findUnmatched, findUnreached } from './never.js'
import { noteLesserRoles, notePublicLists, noteReadableIdentifier } from './notes.js'
import { findOwnConditionWriters, findRoleWriters, findUserFieldWriters } from './own.js'
import { findUnmeetable } from './unmeetable.js'
import { findLostFromSight, findUnreadableReferences, findUnreadableTargets } from './unseen.js'

/** All checks beyond the errors and warnings of the start (CONTRACT.md §8, "Check"). */
export const CHECKS: readonly Check[] = [
  findImpossibleSubjects,
  findMistakenSubjects,
  findUnmatched,
  findUnreached,
  findUnreadableTargets,
  findRoleWriters,
  findUserFieldWriters,
  findOwnConditionWriters,
  findLostFromSight,
  findUnsettable,
  findUnfillable,
  findUnmeetable,
  findUnreadableReferences,
  findUnindexed,
  notePublicLists,
  noteReadableIdentifier,
  noteLesserRoles,
]
