// Package differential asks a real agent-server and ohgw the same, and compares the
// answers: 380 requests and 22 sockets. Every difference stands in
// testdata/differences.tsv with its reason; a row that explains nothing fails the test.
//
// Both are asked at the same time, because most of it is waiting for silence on sockets.
// It runs with scripts/e2e; alone:
//
//	OHGW_TEST_AGENT_SERVER=$PWD/scripts/agent-server go test -tags e2e ./e2e/differential
package differential
