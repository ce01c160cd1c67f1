// Package providers has no code outside of its tests, which need the build tag
// e2e: see scripts/e2e.
//
// They compare what ohgw's engine sends to each provider with what OpenHands'
// SDK sends to it. Both make the same turn of an agent with the same profile,
// and both reach a recorder of this package under the providers' real names:
// the tests run in a network namespace of their own, from which nothing leads
// out. Every difference is a line in testdata/differences.tsv, with its reason.
package providers
