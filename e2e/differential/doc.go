// Package differential asks a real agent-server and ohgw the same, and compares the
// answers. Every difference stands in testdata/differences.tsv with its reason.
package differential
