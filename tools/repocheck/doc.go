// Package repocheck holds tests about the repository itself: what a reviewer
// would otherwise have to remember. It has no code of its own.
//
// The rules that the linter enforces too (imports, package variables) are here
// for machines on which no linter runs; `go test ./...` is enough to see them.
package repocheck
