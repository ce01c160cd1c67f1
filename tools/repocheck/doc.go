// Package repocheck holds tests about the repository itself: what a reviewer
// would otherwise have to remember. It has no code of its own.
//
// The rules for imports and package variables are here only, not in the linter.
package repocheck
