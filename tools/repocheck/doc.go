// Package repocheck holds tests about the repository itself: what a reviewer
// would otherwise have to remember. It has no code of its own.
//
// The rules for imports are here only. The test for package variables is here as well
// as in the linter, for machines on which no linter runs.
package repocheck
